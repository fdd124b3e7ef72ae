import { expect, test } from 'vitest'

import { copied } from './parts'

test('what is not in the clipboard is not said to be', async () => {
  const said: string[] = []
  expect(await copied('key', { writeText: async (text) => void said.push(text) })).toBe(true)
  expect(said).toEqual(['key'])
  expect(await copied('key', undefined)).toBe(false)
  expect(await copied('key', { writeText: () => Promise.reject(new Error('refused')) })).toBe(false)
})
