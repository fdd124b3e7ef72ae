import type { Schemas } from '../api/client'

export interface Median {
  from: number // ms
  until: number
  cents: number
}

/** firstOfYear is the first day of the year (UTC) of a time: listings of a year share what is asked from it. */
export const firstOfYear = (at: number) => `${new Date(at).getUTCFullYear()}-01-01`

/** mediansOf are the medians of a place month by month, within a time; a month of few homes has none. */
export function mediansOf(
  groups: Schemas['RentGroup'][],
  place: string,
  bedrooms: number,
  from: number,
  until: number,
): Median[] {
  return groups
    .filter((g) => g.place === place && g.bedrooms === bedrooms)
    .map((g) => {
      const start = new Date(g.from)
      const next = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1)
      return { from: Math.max(from, start.getTime()), until: Math.min(until, next), cents: g.median_cents }
    })
    .filter((m) => m.from < m.until)
    .sort((a, b) => a.from - b.from)
}

/** stepsOf draws medians: a line a month, joined to the next one where no month is left out. */
export const stepsOf = (medians: Median[], x: (at: number) => number, y: (cents: number) => number) =>
  medians
    .map((m, i) => `${medians[i - 1]?.until === m.from ? 'V' : `M${x(m.from)} `}${y(m.cents)}H${x(m.until)}`)
    .join('')
