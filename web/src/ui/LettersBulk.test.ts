import { expect, test } from 'vitest'

import { Problem } from '../api/problem'
import { inPortions } from './Bulk'
import { oneByOne } from './LettersBulk'

test('letters that were chosen are all asked and counted, whatever one of them answered before', async () => {
  const left = Array.from({ length: 25 }, (_, i) => ({ id: i + 1 }))
  const asked: number[] = []
  let busy = 2 // answers: one in the middle of a portion, and one at its beginning
  const act = () =>
    oneByOne(left, async ({ id: n }) => {
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

test('a letter that the API does not act on is left out of the count, and the API says why', async () => {
  const left = [{ id: 1 }, { id: 2 }, { id: 3 }]
  const e = await oneByOne(left, async ({ id }) => {
    if (id === 2) throw new Problem(409, 'Conflict', 'the file of upload 7 is no longer kept; upload it anew')
  })
  const refused = ['2: the file of upload 7 is no longer kept; upload it anew']
  expect(e).toEqual({ matched: 0, done: 2, left: 0, refused })
})

test('letters after a portion that the API does not act on are asked all the same', async () => {
  const left = Array.from({ length: 25 }, (_, i) => ({ id: i + 1 }))
  const act = () =>
    oneByOne(left, async ({ id }) => {
      if (id <= 20) throw new Problem(409, 'Conflict', 'it is over')
    })
  let done = 0
  await inPortions(
    act,
    0,
    (sum) => (done = sum),
    () => false,
  )
  expect(done).toBe(5)
})
