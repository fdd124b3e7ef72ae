// The words of a query, found again in a text by the page itself: the index knows where they are in what it answers
// only, not in the whole of a stored page.

/** A Wanted is a word of a query, folded. */
export interface Wanted {
  word: string
  begins: boolean // other words that begin with it are meant, too
}

/** fold writes a text without accents and capitals, as long as it was: a mark made in one fits the other. */
export const fold = (text: string) =>
  text.replace(/[\p{L}\p{M}\p{N}]/gu, (c) => {
    const plain = c.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
    return plain.length === c.length ? plain : c
  })

/** bare leaves out accents that are characters of their own, which fold keeps for their place. */
const bare = (word: string) => word.replaceAll(/\p{M}/gu, '')

/** wanted are the words that a query looks for in texts: none of those that it leaves out or that say where to look. */
export function wanted(query: string): Wanted[] {
  const found = new Map<string, Wanted>()
  // A part that begins with - is left out with its phrase; site:, lang: and type: are filters.
  const parts = query.replaceAll(/(^|\s)-("[^"]*"?|\S+)/g, ' ').replaceAll(/(^|\s)(site|lang|type):\S+/gi, ' ')
  for (const [, text, star] of fold(parts.replaceAll(/intitle:/gi, ' ')).matchAll(/([\p{L}\p{M}\p{N}]+)(\*?)/gu)) {
    const word = bare(text!)
    found.set(word, { word, begins: star !== '' || found.get(word)?.begins === true })
  }
  return [...found.values()]
}

// An ending that the word of a text may have more than that of the query, or less: heater finds heaters.
const endings = /^(s|x|es|e|ed|ing)$/

const alike = (a: string, b: string) => a.length > 2 && b.startsWith(a) && endings.test(b.slice(a.length))

/** places are where words of a query stand in a text, as ranges of UTF-16 units, the first one first. */
export function places(text: string, words: Wanted[]): { start: number; end: number }[] {
  if (words.length === 0) return []
  return [...fold(text).matchAll(/[\p{L}\p{M}\p{N}]+/gu)]
    .filter(([text]) => {
      const one = bare(text)
      return words.some(
        (w) => one === w.word || (w.begins && one.startsWith(w.word)) || alike(w.word, one) || alike(one, w.word),
      )
    })
    .map((m) => ({ start: m.index, end: m.index + m[0].length }))
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
