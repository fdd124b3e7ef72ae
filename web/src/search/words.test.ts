import { expect, test } from 'vitest'

import { begun, completed, fold, monthOf, places, wanted } from './words'

const marked = (text: string, query: string) => places(text, wanted(query)).map((p) => text.slice(p.start, p.end))

test('a query is the words that it looks for in texts', () => {
  expect(wanted('Chauffe-eau "à gaz" -électrique -"sans fil" site:example.org lang:fr intitle:prix pomp*')).toEqual([
    { word: 'chauffe', begins: false },
    { word: 'eau', begins: false },
    { word: 'a', begins: false },
    { word: 'gaz', begins: false },
    { word: 'prix', begins: false },
    { word: 'pomp', begins: true },
  ])
  expect(wanted('-used')).toEqual([])
})

test('words are found with other accents, capitals and endings, and in no other word', () => {
  expect(marked('Élan, ELAN, élans; elanceur', 'elan')).toEqual(['Élan', 'ELAN', 'élans'])
  expect(marked('heater heat heaters', 'heaters')).toEqual(['heater', 'heaters'])
  expect(marked('pompe, pomme', 'pom*')).toEqual(['pompe', 'pomme'])
  expect(marked('a as', 'a')).toEqual(['a'])
  expect(marked('l\u2019e\u0301te\u0301', 'été')).toEqual(['e\u0301te\u0301'])
  expect(marked('anything', '')).toEqual([])
})

test('a mark is where the word is, whatever stands before it', () => {
  const before = 'İ 🏠 ﬁ ß e\u0301 '
  expect(fold(before)).toHaveLength(before.length)
  expect(places(before + 'Été', wanted('ete'))).toEqual([{ start: before.length, end: before.length + 3 }])
})

test('the last word is completed, and nothing else', () => {
  expect(completed('-used heat pu', 'pump')).toBe('-used heat pump')
  expect(completed('heat ', 'pump')).toBe('heat pump')
  expect(['h', 'he', 'he ', 'site:', 'été'].map(begun)).toEqual([false, true, false, false, true])
})

test('a month ends where the next one begins', () => {
  expect(monthOf('2026-12')).toEqual({ from: '2026-12-01T00:00:00Z', to: '2027-01-01T00:00:00Z' })
})
