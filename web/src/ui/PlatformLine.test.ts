import { expect, test } from 'vitest'

import { expectedPages, ticksOf } from './PlatformLine'

const cycle = (pages: number, seen: number, total?: number) => ({ pages, seen, total }) as never
const settings = (max: number) => ({ max_pages_per_cycle: max }) as never

test('a cycle has as many pages as the site says, or as the one before', () => {
  const of = (current: never | undefined, last?: never, max = 250) =>
    expectedPages({ settings: settings(max), current_cycle: current, last_cycle: last })
  expect(of(undefined)).toBe(0)
  expect(of(cycle(0, 0))).toBe(0)
  expect(of(cycle(1, 40, 91))).toBe(3)
  expect(of(cycle(1, 40), cycle(4, 130, 130))).toBe(4)
  expect(of(cycle(5, 200, 91), cycle(4, 130, 130))).toBe(5)
  expect(of(cycle(1, 40, 4000), undefined, 20)).toBe(20)
})

test('pages follow that are not known only while a cycle is under way', () => {
  expect(ticksOf(3, 0, true)).toBe(13)
  expect(ticksOf(3, 0, false)).toBe(3)
  expect(ticksOf(0, 0, false)).toBe(0)
  expect(ticksOf(3, 5, true)).toBe(5)
  expect(ticksOf(6, 5, false)).toBe(6)
})
