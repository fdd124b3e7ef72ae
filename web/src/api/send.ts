import type { Schemas } from './client'
import { answer, Problem } from './problem'
import { ended, forgetSending, whileSending, type Sending } from './sending'

/**
 * sendFile sends a file of contacts, and says how many bytes of it have gone. It is the one call that is no fetch:
 * a fetch does not tell how far a body is. The browser asks before it leaves the console meanwhile, whatever page of it is
 * shown.
 */
export async function sendFile(u: {
  sending: Sending
  file: File
  onSent: (bytes: number) => void
}): Promise<Schemas['Upload']> {
  const stay = (e: BeforeUnloadEvent) => e.preventDefault()
  window.addEventListener('beforeunload', stay)
  try {
    return await whileSending(u.sending, () => post(u))
  } finally {
    window.removeEventListener('beforeunload', stay)
  }
}

async function post({ sending, file, onSent }: Parameters<typeof sendFile>[0]): Promise<Schemas['Upload']> {
  const query = new URLSearchParams({ hold: String(sending.hold), dry_run: String(sending.dryRun) })
  if (sending.tenant) query.set('tenant', sending.tenant)
  const body = new FormData()
  body.append('file', file)
  const call = new Promise<{ data?: Schemas['Upload']; error?: unknown; response: Response }>((resolve, reject) => {
    const x = new XMLHttpRequest()
    x.open('POST', '/uploads?' + query.toString())
    x.setRequestHeader('Idempotency-Key', sending.key)
    x.upload.onprogress = (e) => onSent(Math.min(e.loaded, file.size))
    x.onerror = () => reject(new TypeError('the connection was lost'))
    x.onload = () => {
      let said: unknown
      try {
        said = JSON.parse(x.responseText)
      } catch {
        said = undefined // of a proxy, say
      }
      const headers = new Headers()
      for (const name of ['Retry-After', 'Traceparent']) {
        const value = x.getResponseHeader(name)
        if (value) headers.set(name, value)
      }
      const response = new Response(null, { status: x.status, statusText: x.statusText, headers })
      resolve(response.ok ? { data: said as Schemas['Upload'], response } : { error: said, response })
    }
    x.send(body)
  })
  try {
    const upload = await answer(call)
    forgetSending(sending.key)
    return upload
  } catch (caught) {
    if (ended(Problem.of(caught).status)) forgetSending(sending.key)
    throw caught
  }
}
