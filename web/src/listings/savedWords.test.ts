import { expect, test } from 'vitest'

import { en } from '../say/en'
import { inWords } from './savedWords'

test('a filter is said name by name', () => {
  expect(inWords({}, en)).toBe('')
  expect(inWords({ max_price: 1500, rooms: [3.5, 4.5], text: '' }, en)).toBe('rent to = 1500; rooms = 3.5, 4.5')
  expect(inWords({ near: { latitude: 45.5, longitude: -73.6, metres: 800 } }, en)).toBe('near = 45.5, -73.6, 800 m')
  const corners = [0, 1, 2, 3].map((n) => [n, n])
  expect(inWords({ polygon: corners }, en)).toBe('corners of a polygon = 4')
})
