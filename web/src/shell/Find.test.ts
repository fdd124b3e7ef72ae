import { expect, test } from 'vitest'

import { fr } from '../say/fr'
import { pagesOf } from './Find'

const places = ['Messages', 'Messages morts', 'Réglages', 'Requêtes'].map((name) => ({ to: '/' + name, name }))
const found = (typed: string) => pagesOf(typed, places, fr).map((h) => h.title)

test('a page is found by any of its words, with accents or without', () => {
  expect(found('')).toHaveLength(4)
  expect(found('mor')).toEqual(['Messages morts'])
  expect(found('messages m')).toEqual(['Messages morts'])
  expect(found('re')).toEqual(['Réglages', 'Requêtes'])
  expect(found('glages')).toEqual([])
})
