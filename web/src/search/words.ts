import type { Schemas } from '../api/client'

/** A Part of a text: what stands before a mark, and what is marked. In the last part nothing is. */
type Part = [before: string, word?: string]

/** parts cuts a text at its marks, which the API counts in code points. A mark within another, or behind the end, is none. */
export function parts(text: string, marks: Schemas['SearchMark'][]): Part[] {
  const found: Part[] = []
  let [points, at, done] = [0, 0, 0] // at and done: in UTF-16 units, as strings are cut
  const unit = (point: number) => {
    for (; points < point && at < text.length; points++) at += text.codePointAt(at)! > 0xffff ? 2 : 1
    return at
  }
  for (const m of marks) {
    if (m.start < points) continue
    const [start, end] = [unit(m.start), unit(m.end)]
    if (end === start) continue
    found.push([text.slice(done, start), text.slice(start, end)])
    done = end
  }
  return [...found, [text.slice(done)]]
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
