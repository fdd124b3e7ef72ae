import { expect, test } from 'vitest'

import { begun } from './ProcessRefused'
import { countedBy } from './Refused'

test('a replay is of what was planned until all of it is counted', () => {
  expect(begun({ total: 312, counted: true }, 300)).toBe(312)
  expect(begun({ total: 41, counted: false }, 48_000)).toBe(48_000)
  expect(begun({ total: 41, counted: false }, 0)).toBe(41)
})

test('a figure of the last two weeks leads to the adverts that it counts', () => {
  const now = Date.parse('2026-10-20T15:04:05Z')
  expect(countedBy('missing', undefined, now)).toEqual({ reason: 'missing', since: '2026-10-07T00:00:00.000Z' })
  expect(countedBy('missing', 'kijiji', now)).toMatchObject({ platform: 'kijiji' })
})
