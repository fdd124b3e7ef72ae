import { expect, test } from 'vitest'

import { begun } from './Refused'

test('a replay is of what was planned until all of it is counted', () => {
  expect(begun({ total: 312, counted: true }, 300)).toBe(312)
  expect(begun({ total: 41, counted: false }, 48_000)).toBe(48_000)
  expect(begun({ total: 41, counted: false }, 0)).toBe(41)
})
