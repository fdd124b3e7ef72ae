import { expect, test } from 'vitest'

import { Problem } from '../api/problem'
import { inPortions } from './Bulk'
import { oneByOne } from './LettersBulk'

test('letters that were chosen are all asked and counted, whatever one of them answered before', async () => {
  const left = Array.from({ length: 25 }, (_, i) => i + 1)
  const asked: number[] = []
  let busy = 2 // answers: one in the middle of a portion, and one at its beginning
  const act = () =>
    oneByOne(left, async (n) => {
      if (n === 3 && busy-- > 0) throw new Problem(429, 'Too Many Requests', '')
      asked.push(n)
    })
  let done = 0
  const press = () =>
    inPortions(
      act,
      done,
      (sum) => (done = sum),
      () => false,
    )
  await expect(press()).rejects.toMatchObject({ status: 429 })
  expect(done).toBe(2)
  await press()
  expect(asked).toEqual(Array.from({ length: 25 }, (_, i) => i + 1))
  expect(done).toBe(25)
})

test('a letter that somebody else has dealt with is left out of the count', async () => {
  const left = [1, 2, 3]
  const e = await oneByOne(left, async (n) => {
    if (n === 2) throw new Problem(409, 'Conflict', '')
  })
  expect(e).toEqual({ matched: 0, done: 2, left: 0 })
})
