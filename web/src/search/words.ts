import type { Schemas } from '../api/client'

/** units are marks in UTF-16 units, as strings are cut: the API counts code points. */
export function units(text: string, marks: Schemas['SearchMark'][]): { start: number; end: number }[] {
  let points = 0
  let at = 0
  const unit = (point: number) => {
    for (; points < point && at < text.length; points++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
    return at
  }
  return marks.map((m) => ({ start: unit(m.start), end: unit(m.end) }))
}

/** completed is a query whose last word is another one. */
export const completed = (query: string, word: string) => query.replace(/[\p{L}\p{M}\p{N}]*$/u, '') + word

/** begun reports whether the last word of a query is one that can be completed. */
export const begun = (query: string) => /[\p{L}\p{N}]{2}$/u.test(query)

/** monthOf is the time from the first day of a month, 2026-11, up to that of the next one. */
export function monthOf(month: string) {
  const [year, n] = month.split('-').map(Number) as [number, number]
  const at = (m: number) => new Date(Date.UTC(year, m, 1)).toISOString().replace('.000', '')
  return { from: at(n - 1), to: at(n) }
}
