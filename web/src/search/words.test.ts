import { expect, test } from 'vitest'

import { begun, completed, monthOf, parts } from './words'

test('a text is cut at its marks, also behind letters of two units', () => {
  const text = '🏠 a week-end 𝒳 weekend'
  const marks = [
    { start: 4, end: 12 },
    { start: 6, end: 9 }, // within the one before
    { start: 13, end: 13 },
    { start: 15, end: 22 },
    { start: 22, end: 99 },
  ]
  expect(parts(text, marks)).toEqual([['🏠 a ', 'week-end'], [' 𝒳 ', 'weekend'], ['']])
  expect(parts(text, [])).toEqual([[text]])
  expect(parts('to the end', [{ start: 3, end: 99 }])).toEqual([['to ', 'the end'], ['']])
})

test('the last word is completed, and nothing else', () => {
  expect(completed('-used heat pu', 'pump')).toBe('-used heat pump')
  expect(completed('heat ', 'pump')).toBe('heat pump')
  expect(['h', 'he', 'he ', 'site:', 'été'].map(begun)).toEqual([false, true, false, false, true])
})

test('a month ends where the next one begins', () => {
  expect(monthOf('2026-12')).toEqual({ from: '2026-12-01T00:00:00Z', to: '2027-01-01T00:00:00Z' })
})
