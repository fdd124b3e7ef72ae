import { expect, test } from 'vitest'

import { toggled } from './Rows'

test('one of all that is not wanted leaves the others chosen', () => {
  const rows = ['a', 'b', 'c']
  const none = { ids: new Set<string>(), all: false }
  expect([...toggled({ ...none, all: true }, 'b', rows)]).toEqual(['a', 'c'])
  expect([...toggled(none, 'b', rows)]).toEqual(['b'])
  expect([...toggled({ ...none, ids: new Set(['a', 'b']) }, 'b', rows)]).toEqual(['a'])
})
