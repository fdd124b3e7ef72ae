import { expect, test } from 'vitest'

import { keysOf, onceOf } from './once'

test('what is asked for again without an answer is the same request, and another one after it', () => {
  const keys = keysOf()
  const first = keys.of({ seedUrl: 'https://a.example/' })
  expect(keys.of({ seedUrl: 'https://a.example/' })).toBe(first)
  const other = keys.of({ seedUrl: 'https://b.example/' })
  expect(other).not.toBe(first)
  keys.answered()
  expect(keys.of({ seedUrl: 'https://b.example/' })).not.toBe(other)
})

test('what is made carries one key until it is answered', async () => {
  const sent: string[] = []
  let away = true
  const make = onceOf(async (_: { stage: string }, key: string) => {
    sent.push(key)
    if (away) throw new TypeError('the connection was lost')
  })
  const ask = () => make({ stage: 'normalize' }).catch(() => {})
  await ask()
  away = false
  await ask()
  await ask()
  expect(sent[1]).toBe(sent[0])
  expect(sent[2]).not.toBe(sent[0])
})
