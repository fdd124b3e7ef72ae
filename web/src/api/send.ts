import type { Schemas } from './client'
import { answer, Problem } from './problem'
import { begin, ended, forgetSending } from './sending'

/**
 * sendFile sends a file of contacts, and says how many bytes of it have gone. It is the one call that is no fetch:
 * a fetch does not tell how far a body is.
 */
export async function sendFile(u: {
  tenant: string
  file: File
  hold: boolean
  dryRun: boolean
  onSent: (bytes: number) => void
}): Promise<Schemas['Upload']> {
  const sending = begin(u)
  const query = new URLSearchParams({ hold: String(sending.hold), dry_run: String(sending.dryRun) })
  if (u.tenant) query.set('tenant', u.tenant)
  const body = new FormData()
  body.append('file', u.file)
  const call = new Promise<{ data?: Schemas['Upload']; error?: unknown; response: Response }>((resolve, reject) => {
    const x = new XMLHttpRequest()
    x.open('POST', '/uploads?' + query.toString())
    x.setRequestHeader('Idempotency-Key', sending.key)
    x.upload.onprogress = (e) => u.onSent(Math.min(e.loaded, u.file.size))
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
    forgetSending()
    return upload
  } catch (caught) {
    if (ended(Problem.of(caught).status)) forgetSending()
    throw caught
  }
}
