// Filters are the address of a page: text, by name. A name that is given several times is "any of these", which the API
// takes separated by commas.

import { offset, type Zone } from '../say/format'

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

const aDay = 86_400_000 // ms

/** midnight is when a day begins in a zone, in ms: also one whose first hour comes twice, or is left out. */
function midnight(day: number, zone: Zone) {
  const [before, after] = [day - offset(day - aDay, zone), day - offset(day + aDay, zone)]
  const begins = [Math.min(before, after), Math.max(before, after)].find((at) => at + offset(at, zone) === day)
  return begins ?? before
}

function within(typed: string | undefined, begins: (day: number) => number) {
  const day = /^\d{4}-\d\d-\d\d$/.test(typed ?? '') ? Date.parse(`${typed}T00:00:00Z`) : NaN
  return isNaN(day) ? (typed ?? '') : new Date(begins(day)).toISOString()
}

/** startOf makes a time of a day of a zone, which is what people choose; what is a time already stays. */
export const startOf = (typed: string | undefined, zone: Zone) => within(typed, (day) => midnight(day, zone))

/** endOf is startOf for the end of what is asked for: the day that was chosen belongs to it. */
export const endOf = (typed: string | undefined, zone: Zone) => within(typed, (day) => midnight(day + aDay, zone) - 1)

/** dayOf is the day of a zone that a time falls on, for a field of days; what is no time stays. */
export function dayOf(value: string, zone: Zone) {
  const at = value.includes('T') ? Date.parse(value) : NaN
  return isNaN(at) ? value : new Date(at + offset(at, zone)).toISOString().slice(0, 10)
}

/** toggle adds one of several values, or takes it away; the order is that of all. */
export function toggle(value: string | undefined, one: string, all: string[]) {
  const chosen = new Set(each(value))
  if (!chosen.delete(one)) chosen.add(one)
  const known = all.filter((v) => chosen.delete(v))
  return [...known, ...chosen].join(',')
}
