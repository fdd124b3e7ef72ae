// A file on its way to the API. Its key is kept in this browser until the API has answered: after a reload or a lost
// connection the same file, chosen again, is the same upload, however much of it had arrived.

export interface Sending {
  tenant: string
  name: string
  size: number
  modified: number // of the file, ms
  hold: boolean
  dryRun: boolean
  key: string
  at: number // when it began, ms
}

const place = 'conveyor.sending'
const day = 86_400_000 // then a file is another upload

/** readSending is the file that was being sent and of which no answer is known. */
export function readSending(now = Date.now()): Sending | undefined {
  try {
    const s = JSON.parse(localStorage.getItem(place) ?? 'null') as Sending | null
    return s && typeof s.key === 'string' && typeof s.name === 'string' && now - s.at < day ? s : undefined
  } catch {
    return undefined // nothing is kept in this browser, or something else
  }
}

function keep(s: Sending | undefined) {
  try {
    if (s) localStorage.setItem(place, JSON.stringify(s))
    else localStorage.removeItem(place)
  } catch {
    // without a store a file that is cut off is sent anew
  }
}

export const forgetSending = () => keep(undefined)

/** begin is the sending of a file: the one that was cut off, with what was asked for then, or a new one. */
export function begin(
  u: { tenant: string; file: Pick<File, 'name' | 'size' | 'lastModified'>; hold: boolean; dryRun: boolean },
  now = Date.now(),
): Sending {
  const was = readSending(now)
  const { name, size, lastModified: modified } = u.file
  if (was && was.tenant === u.tenant && was.name === name && was.size === size && was.modified === modified) return was
  const key = crypto.randomUUID?.() ?? `${now}-${Math.random()}`
  const s = { tenant: u.tenant, name, size, modified, hold: u.hold, dryRun: u.dryRun, key, at: now }
  keep(s)
  return s
}

/** ended reports whether an answer is the last word about a file: one that is no answer, or "later", is not. */
export const ended = (status: number) => status > 0 && status < 500 && ![401, 408, 429].includes(status)
