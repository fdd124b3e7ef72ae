/** A Problem is an answer of the API that is no success: an RFC 9457 problem, or what can be said without one. */
export class Problem extends Error {
  constructor(
    readonly status: number, // of HTTP; 0 = no answer at all
    readonly title: string,
    readonly detail: string,
    readonly fields: { location?: string; message?: string }[] = [],
    readonly retryAfter?: number, // seconds
    readonly traceId?: string,
  ) {
    super(detail || title)
  }

  /**
   * about are the fields of a body that it names: in its errors, "body.targets[0].url", or first in its detail, "name:
   * expected 1 to 200 characters".
   */
  about(): string[] {
    const located = this.fields.map((f) => /^body\.(\w+)/.exec(f.location ?? '')?.[1])
    return [...located, /^(\w+): /.exec(this.detail)?.[1]].filter((name) => name !== undefined)
  }

  /** isUnknownFilter reports whether all that it names are parameters of an address that the call does not have. */
  isUnknownFilter() {
    return this.fields.length > 0 && this.fields.every((f) => f.message === 'unknown query parameter')
  }

  static of(caught: unknown): Problem {
    if (caught instanceof Problem) return caught
    const text = caught instanceof Error ? caught.message : String(caught)
    return new Problem(0, 'No answer', text)
  }
}

/** mayPass reports whether what failed may succeed when it is asked for again: it was not answered, or is to wait. */
export function mayPass(error: unknown) {
  const { status } = Problem.of(error)
  return status === 0 || status === 429 || status >= 500
}

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** answer waits for a call, and throws a Problem for everything but a success. */
export async function answer<T>(call: Promise<Answer<T>>): Promise<T> {
  let a: Answer<T>
  try {
    a = await call
  } catch (caught) {
    if (caught instanceof DOMException && caught.name === 'AbortError') throw caught
    throw Problem.of(caught)
  }
  if (a.response.ok) return a.data as T
  const p = (typeof a.error === 'object' && a.error !== null ? a.error : {}) as {
    title?: string
    detail?: string
    errors?: { location?: string; message?: string }[]
  }
  const wait = Number(a.response.headers.get('Retry-After'))
  throw new Problem(
    a.response.status,
    p.title ?? a.response.statusText,
    p.detail ?? '',
    p.errors ?? [],
    wait > 0 ? wait : undefined,
    a.response.headers.get('Traceparent')?.split('-')[1],
  )
}
