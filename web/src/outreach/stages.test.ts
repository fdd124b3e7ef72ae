import { expect, test } from 'vitest'

import { mask, stages } from './stages'

const rows = { read: 2000, valid: 1800, invalid: 100, duplicate: 100, new: 1500, updated: 300, skipped: 0 }

test('a file is as long as its parts are on average, until all are stored', () => {
  const half = stages({ state: 'running', rows, chunks: 4, stored_chunks: 2 })
  expect(half.map((s) => [s.name, s.n, s.of, s.share])).toEqual([
    ['read', 2000, 4000, 0.5],
    ['valid', 1800, 3600, 0.5],
    ['stored', 1800, 3600, 0.5],
  ])
  const done = stages({ state: 'done', rows, chunks: 4, stored_chunks: 4 })
  expect(done.map((s) => [s.of, s.share, s.exact])).toEqual([
    [2000, 1, true],
    [1800, 1, true],
    [1800, 1, true],
  ])
  const none = { read: 0, valid: 0, invalid: 0, duplicate: 0, new: 0, updated: 0, skipped: 0 }
  expect(stages({ state: 'received', rows: none, chunks: 0, stored_chunks: 0 }).every((s) => s.share === 0)).toBe(true)
})

test('a number keeps its form', () => {
  expect(mask('+15145550199')).toBe('+15•••••••99')
  expect(mask('555-01')).toBe('•••-••')
})
