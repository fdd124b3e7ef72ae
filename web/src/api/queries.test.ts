import { expect, test } from 'vitest'

import { Problem } from './problem'
import { isCurrent } from './queries'

const one = { pages: [{ items: [] }] }
const failed = (status: number) => isCurrent({ error: new Problem(status, '', ''), data: one })

test('a list is asked for by the clock after an error that passes, and not after one that stays', () => {
  expect(isCurrent({ error: null, data: one })).toBe(true)
  expect([0, 429, 500, 503].map(failed)).toEqual([true, true, true, true])
  expect([400, 401, 403, 404, 422].map(failed)).toEqual([false, false, false, false, false])
  expect(isCurrent({ error: null, data: { pages: [one, one] } })).toBe(false)
  expect(isCurrent({ error: null })).toBe(false)
})
