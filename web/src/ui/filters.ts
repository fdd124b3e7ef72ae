// Filters are the address of a page: text, by name. A name that is given several times is "any of these", which the API
// takes separated by commas.

/** parseSearch reads the search of an address. No value is lost: of a name that comes again, all count. */
export function parseSearch(search: string): Record<string, string> {
  const found = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(search)) {
    const was = found.get(name)
    found.set(name, was ? (value ? `${was},${value}` : was) : value)
  }
  return Object.fromEntries(found)
}

/** writeSearch is the search of an address for values: "?rooms=4.5", or "". Values that are undefined are left out. */
export function writeSearch(values: Record<string, unknown>): string {
  const given = Object.entries(values).filter(([, v]) => v !== undefined)
  const q = new URLSearchParams(given.map(([k, v]) => [k, String(v)])).toString()
  return q && '?' + q
}

/** each splits the value of a filter that takes several. */
export const each = (value: string | undefined) => (value ?? '').split(',').filter((v) => v !== '')

const within = (typed: string | undefined, time: string) =>
  typed && /^\d{4}-\d\d-\d\d$/.test(typed) ? `${typed}T${time}Z` : (typed ?? '')

/** startOf makes a time of a day, which is what people choose; what is a time already stays. */
export const startOf = (typed: string | undefined) => within(typed, '00:00:00')

/** endOf is startOf for the end of what is asked for: the day that was chosen belongs to it. */
export const endOf = (typed: string | undefined) => within(typed, '23:59:59.999')

/** toggle adds one of several values, or takes it away; the order is that of all. */
export function toggle(value: string | undefined, one: string, all: string[]) {
  const chosen = new Set(each(value))
  if (!chosen.delete(one)) chosen.add(one)
  const known = all.filter((v) => chosen.delete(v))
  return [...known, ...chosen].join(',')
}
