import { expect, test } from 'vitest'

import { keepPlace } from './keep'

const id = (r: { n: number; v?: string }) => String(r.n)

const held = [{ n: 3 }, { n: 2 }]

test('what is newer than the rows that were shown waits', () => {
  const rows = [{ n: 5 }, { n: 4 }, { n: 3, v: 'changed' }, { n: 2 }]
  expect(keepPlace(rows, held, id)).toEqual({ rows: [{ n: 3, v: 'changed' }, { n: 2 }], waiting: 2 })
})

test('a row that is gone does not move the others', () => {
  expect(keepPlace([{ n: 5 }, { n: 2 }, { n: 1 }], held, id)).toEqual({ rows: [{ n: 2 }, { n: 1 }], waiting: 1 })
})

test('nobody reads: all is shown; none of what was read is left: it stays', () => {
  const rows = [{ n: 9 }, { n: 8 }]
  expect(keepPlace(rows, undefined, id)).toEqual({ rows, waiting: 0 })
  expect(keepPlace(rows, [], id)).toEqual({ rows, waiting: 0 })
  expect(keepPlace(rows, held, id)).toEqual({ rows: held, waiting: 2 })
})

test('a list that has become empty is empty, whoever reads it', () => {
  expect(keepPlace([], held, id)).toEqual({ rows: [], waiting: 0 })
})
