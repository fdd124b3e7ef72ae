import { expect, test } from 'vitest'

import { keysOf } from './once'

test('what is asked for again without an answer is the same request, and another one after it', () => {
  const keys = keysOf()
  const first = keys.of({ seedUrl: 'https://a.example/' })
  expect(keys.of({ seedUrl: 'https://a.example/' })).toBe(first)
  const other = keys.of({ seedUrl: 'https://b.example/' })
  expect(other).not.toBe(first)
  keys.answered()
  expect(keys.of({ seedUrl: 'https://b.example/' })).not.toBe(other)
})
