import { expect, test } from 'vitest'

import type { Schemas } from '../api/client'
import { withSaid } from './Duplicates'
import { undoable } from './SameHome'

const home = (id: string) => ({ id }) as Schemas['Home']
const verdict = { number: 7, listing_id: 'x', verdict: 'different' as const }

test('a home that left the list by what was said of it stays where it was, so that it can be undone', () => {
  const [a, b, c] = [home('a'), home('b'), home('c')]
  expect(withSaid([a, c], { home: b, at: 1, verdict })).toEqual([a, b, c])
  expect(withSaid([], { home: b, at: 1, verdict })).toEqual([b])
  expect(withSaid([b, a], { home: b, at: 1, verdict })).toEqual([b, a])
  expect(withSaid([a], undefined)).toEqual([a])
})

test('only the latest decision that stands can be undone', () => {
  const older = { ...verdict, number: 6 }
  expect(undoable([verdict, older])).toBe(7)
  expect(undoable([{ ...verdict, undone_at: '2026-10-01T00:00:00Z' }, older])).toBe(6)
  expect(undoable([])).toBeUndefined()
})
