import { expect, test } from 'vitest'

import { pace, staleBy, wanted } from './stream'

/** reads are the times at which a query is read while something happens each second, in seconds. */
function reads(name: string, seconds: number) {
  const all: number[] = []
  let last: { at: number; gap: number } | undefined
  for (let now = 0; now < 1000 * seconds;) {
    const next = pace(name, now, last)
    last = { at: now + next.wait, gap: next.gap }
    all.push(last.at / 1000)
    now = 1000 * Math.ceil((last.at + 1) / 1000) // the next event
  }
  return all
}

test('the first changes are read at once, then the less often the longer they go on', () => {
  expect(reads('recent', 17)).toEqual([0.3, 1.3, 3.3, 7.3, 12.3, 17.3])
})

test('what nobody watches go by is read each second', () => {
  expect(reads('letters', 5)).toEqual([0.3, 1.3, 2.3, 3.3, 4.3])
})

test('after a rest the first change is read at once again', () => {
  expect(pace('flow', 60_000, { at: 20_000, gap: 5_000 })).toEqual({ wait: 300, gap: 1_000 })
})

test('a topic of one item makes its query stale, and no other of its kind', () => {
  expect(staleBy('upload:7a')).toEqual([{ name: 'upload', id: '7a' }])
  expect(staleBy('run:12')).toEqual([{ name: 'run', id: '12' }])
  expect(staleBy('letters').map((s) => s.name)).toContain('letter')
  expect(staleBy('resync').map((s) => s.name)).toEqual(expect.arrayContaining(['flow', 'campaign']))
  expect(staleBy('beat')).toEqual([])
})

test('the stream has what tabs want now, the latest first, and no more than the API takes', () => {
  const heard = new Map([
    ['run:1', 0],
    ['upload:b', 20_000],
    ['campaign:a', 21_000],
  ])
  const pages = wanted(new Map(), 0)
  expect(wanted(heard, 22_000)).toEqual([...pages, 'campaign:a', 'upload:b'])
  const many = new Map(Array.from({ length: 40 }, (_, i) => [`run:${100 + i}`, 20_000 + i]))
  expect(wanted(many, 22_000)).toHaveLength(20)
  expect(wanted(many, 22_000)).toContain('run:139')
})
