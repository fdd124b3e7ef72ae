import { expect, test } from 'vitest'

import { begun, completed, monthOf, units } from './words'

test('marks are found behind letters of two units', () => {
  const text = '🏠 a week-end 𝒳 weekend'
  const marks = [
    { start: 4, end: 12 },
    { start: 15, end: 22 },
    { start: 22, end: 99 },
  ]
  expect(units(text, marks).map((m) => text.slice(m.start, m.end))).toEqual(['week-end', 'weekend', ''])
})

test('the last word is completed, and nothing else', () => {
  expect(completed('-used heat pu', 'pump')).toBe('-used heat pump')
  expect(completed('heat ', 'pump')).toBe('heat pump')
  expect(['h', 'he', 'he ', 'site:', 'été'].map(begun)).toEqual([false, true, false, false, true])
})

test('a month ends where the next one begins', () => {
  expect(monthOf('2026-12')).toEqual({ from: '2026-12-01T00:00:00Z', to: '2027-01-01T00:00:00Z' })
})
