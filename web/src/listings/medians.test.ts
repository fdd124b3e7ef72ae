import { expect, test } from 'vitest'

import { firstOfYear, mediansOf, stepsOf } from './medians'

const group = (month: string, place: string, bedrooms: number, cents: number) => ({
  from: `${month}-01T00:00:00Z`,
  place,
  bedrooms,
  listings: 9,
  low_cents: cents,
  median_cents: cents,
  high_cents: cents,
})
const at = (day: string) => Date.parse(day + 'T00:00:00Z')

test('medians are those of the place and of as many bedrooms, cut to the time that is drawn', () => {
  const groups = [
    group('2026-12', 'a', 2, 130_000),
    group('2026-09', 'a', 2, 100_000),
    group('2026-10', 'a', 2, 110_000),
    group('2026-10', 'a', 3, 1),
    group('2026-10', 'b', 2, 2),
    group('2027-01', 'a', 2, 140_000),
  ]
  const found = mediansOf(groups, 'a', 2, at('2026-09-15'), at('2026-12-25'))
  expect(found).toEqual([
    { from: at('2026-09-15'), until: at('2026-10-01'), cents: 100_000 },
    { from: at('2026-10-01'), until: at('2026-11-01'), cents: 110_000 },
    { from: at('2026-12-01'), until: at('2026-12-25'), cents: 130_000 },
  ])
  const days = (ms: number) => Math.round((ms - at('2026-09-15')) / 86_400_000)
  expect(stepsOf(found, days, (c) => c / 10_000)).toBe('M0 10H16V11H47M77 13H101')
  expect(mediansOf(groups, 'c', 2, 0, at('2027-02-01'))).toEqual([])
})

test('medians are asked for from the first day of a year, and those before the time that is drawn are left out', () => {
  expect(firstOfYear(at('2026-02-28'))).toBe('2026-01-01')
  expect(firstOfYear(at('2026-12-31') + 86_399_999)).toBe('2026-01-01')
  const year = [1, 2, 3].map((m) => group(`2026-0${m}`, 'a', 2, m))
  expect(mediansOf(year, 'a', 2, at('2026-02-28'), at('2026-03-02')).map((m) => m.cents)).toEqual([2, 3])
})
