import { beforeEach, expect, test, vi } from 'vitest'

import { begin, ended, forgetSending, readSending } from './sending'

const file = { name: 'people.csv', size: 10, lastModified: 5 }
const asked = { tenant: 'acme', file, hold: true, dryRun: false }

beforeEach(() => {
  const kept = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => kept.set(k, v),
    removeItem: (k: string) => kept.delete(k),
  })
})

test('the same file is the same upload until an answer is known, with what was asked for at first', () => {
  const first = begin(asked, 1000)
  expect(readSending(1000)).toEqual(first)
  expect(begin({ ...asked, hold: false }, 2000)).toEqual(first)
  for (const other of [
    { ...asked, tenant: 'umbrella' },
    { ...asked, file: { ...file, size: 11 } },
    { ...asked, file: { ...file, lastModified: 6 } },
  ]) {
    forgetSending()
    const again = begin(asked, 1000)
    expect(begin(other, 2000).key).not.toBe(again.key)
  }
  forgetSending()
  expect(readSending()).toBeUndefined()
})

test('after a day, or without a store, a file is another upload', () => {
  const first = begin(asked, 1000)
  expect(readSending(1000 + 86_400_000)).toBeUndefined()
  expect(begin(asked, 1000 + 86_400_000).key).not.toBe(first.key)
  vi.stubGlobal('localStorage', undefined)
  expect(readSending()).toBeUndefined()
  expect(begin(asked).key).not.toBe('')
})

test('what may be tried again with the same key is not the end', () => {
  expect([0, 202, 401, 408, 409, 422, 429, 503].map(ended)).toEqual([
    false, true, false, false, true, true, false, false,
  ]) // prettier-ignore
})
