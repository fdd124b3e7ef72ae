import { expect, test } from 'vitest'

import { en } from './en'
import { fr } from './fr'

type Tree = { [name: string]: unknown }

/** sentences are all of a language, those that take figures with 0, 1 and many. */
function sentences(tree: Tree, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([name, value]): [string, string][] => {
    const at = path + name
    if (typeof value === 'string') return [[at, value]]
    if (typeof value === 'function') {
      return [0, 1, 7].map((n) => [`${at}(${n})`, String(value(n, n, n, n, n, n))])
    }
    return sentences(value as Tree, at + '.')
  })
}

test('both languages say everything', () => {
  const [a, b] = [sentences(en as Tree), sentences(fr as Tree)]
  expect(b.map(([at]) => at)).toEqual(a.map(([at]) => at))
  for (const [at, text] of [...a, ...b]) {
    expect(text.trim(), at).not.toBe('')
    expect(text, at).not.toMatch(/undefined|\[object|NaN/)
  }
})

test('words go with their number, in each language by its own rule', () => {
  const both = (of: (say: typeof en) => string) => [of(en), of(fr)]
  expect(both((say) => say.outreach.adds(1, 0, 1, 2, 0))).toEqual([
    '1 read = 0 stored + 1 duplicate + 2 invalid + 0 skipped',
    '1 lue = 0 stockée + 1 doublon + 2 invalides + 0 sautée',
  ])
  expect(both((say) => say.outreach.addsUp(1, 0, 1, 0, 0, 0))[0]).toMatch(/^1 message = /)
  expect(both((say) => say.outreach.addsUp(2, 0, 2, 0, 0, 0))[1]).toMatch(/^2 messages = 0 en attente \+ 2 envoyés/)
  expect(both((say) => say.outreach.rows.duplicate(0))).toEqual(['duplicates', 'doublon'])
  expect(both((say) => say.run.counters.redirect_301(1))).toEqual(['redirect', 'redirection'])
  expect(both((say) => say.run.counters.visited(2))).toEqual(['visited', 'visitées'])
  expect(both((say) => say.today.lines.alt(5, 2, 1, 1, 1, 0))).toEqual([
    '5 came in: 2 unchanged, 1 refused, 1 duplicate, 1 new, 0 changed.',
    '5 reçues : 2 inchangées, 1 refusée, 1 doublon, 1 nouvelle, 0 changée.',
  ])
  expect(both((say) => say.run.known(1, '100'))).toEqual(['1 URL known, 100 % done', '1 URL connue, 100 % faite'])
  expect(both((say) => say.search.stats(1, '2 MB'))[0]).toBe('1 crawled page can be found; the index has 2 MB.')
  expect(both((say) => say.listing.readNote(1, 1))).toEqual(['1 field, 1 warning', '1 champ, 1 avertissement'])
  expect(both((say) => say.listing.bathrooms(1.5))).toEqual(['baths', 'salle de bain'])
})
