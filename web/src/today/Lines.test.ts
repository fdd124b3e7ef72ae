import { expect, test } from 'vitest'

import { sourcesOf } from './Lines'

const of = (...figures: [string, number][]) => figures.map(([source, n]) => ({ source, in: n }))
const rest = (n: number) => `${n} others`

test('the drawing has all sources by name, the smaller ones as one', () => {
  const few = of(['a', 1], ['b', 0], ['c', 7], ['d', 2])
  expect(sourcesOf(few, rest)).toEqual(few)
  expect(sourcesOf(of(['a', 1], ['b', 0], ['c', 7], ['d', 2], ['e', 9]), rest)).toEqual(
    of(['c', 7], ['d', 2], ['e', 9], ['2 others', 1]),
  )
})
