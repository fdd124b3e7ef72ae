import { beforeEach, expect, test, vi } from 'vitest'

import { begin, cutOff, ended, forgetSending, readSendings, whileSending, type Sending } from './sending'

const file = { name: 'people.csv', size: 10, lastModified: 5 }
const asked = { by: 'anne', tenant: 'acme', file, hold: true, dryRun: false }

/** locks are those of a browser: one tab at a time, and all tabs see who holds what. */
function locks() {
  const held = new Map<string, Promise<unknown>>()
  return {
    async request(name: string, send: () => Promise<unknown>) {
      while (held.has(name)) await held.get(name)!.catch(() => {})
      const going = send()
      held.set(name, going)
      try {
        return await going
      } finally {
        held.delete(name)
      }
    },
    query: async () => ({ held: [...held.keys()].map((name) => ({ name })) }),
  }
}

beforeEach(() => {
  const kept = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    get length() {
      return kept.size
    },
    key: (i: number) => [...kept.keys()][i] ?? null,
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => kept.set(k, v),
    removeItem: (k: string) => kept.delete(k),
  })
  vi.stubGlobal('navigator', { locks: locks() })
})

const lost = () => Promise.reject(new TypeError('the connection was lost'))

/** cut sends a file whose connection is lost. */
async function cut(s: Sending) {
  await expect(whileSending(s, lost)).rejects.toThrow('lost')
  return s
}

test('the same file is the same upload until an answer is known, with what was asked for at first', async () => {
  const first = await cut(begin(asked))
  expect(await cutOff()).toEqual([first])
  const again = begin({ ...asked, hold: false, dryRun: true })
  expect(again).toEqual(first)
  for (const other of [
    { ...asked, tenant: 'umbrella' },
    { ...asked, by: 'bob' }, // a caller of a tenant names none
    { ...asked, file: { ...file, size: 11 } },
    { ...asked, file: { ...file, lastModified: 6 } },
  ])
    expect(begin(other).key).not.toBe(first.key)
  forgetSending(first.key)
  expect(await cutOff()).toEqual([])
  const anew = begin({ ...asked, hold: false, dryRun: true })
  expect(anew).toMatchObject({ hold: false, dryRun: true })
  expect(anew.key).not.toBe(first.key)
})

test('each file is kept by itself', async () => {
  const first = await cut(begin(asked, Date.now() - 1000))
  const second = await cut(begin({ ...asked, file: { ...file, name: 'others.csv' }, hold: false }))
  expect(await cutOff()).toEqual([second, first])
  forgetSending(second.key)
  expect(await cutOff()).toEqual([first])
  expect(begin(asked)).toEqual(first)
})

test.each([
  ['this tab', async () => ({ other: await import('./sending') })],
  [
    'another tab',
    async () => {
      vi.resetModules()
      return { other: await import('./sending') }
    },
  ],
])('a file that %s is sending is not cut off', async (_, load) => {
  const { other } = await load()
  const s = begin(asked)
  let fail = (_: Error) => {}
  const sending = other.whileSending(s, () => new Promise<never>((_, reject) => (fail = reject)))
  await vi.waitFor(() => expect(readSendings()).toEqual([s]))
  expect(await cutOff()).toEqual([])
  expect(begin(asked)).toEqual(s)
  fail(new TypeError('the connection was lost'))
  await expect(sending).rejects.toThrow('lost')
  expect(await cutOff()).toEqual([s])
})

test('a file that is sent twice at once is sent by one after the other', async () => {
  const s = begin(asked)
  const order: string[] = []
  const send = (name: string) => async () => {
    order.push(name)
    await Promise.resolve()
    forgetSending(s.key)
    order.push(name)
  }
  await Promise.all([whileSending(s, send('a')), whileSending(s, send('b'))])
  expect(order).toEqual(['a', 'a', 'b', 'b'])
  expect(readSendings()).toEqual([])
})

test('what was answered while the locks were asked for is not cut off', async () => {
  const s = begin(asked)
  let answer = () => {}
  const sending = whileSending(s, () => new Promise<void>((resolve) => (answer = resolve)))
  const { query } = navigator.locks
  vi.spyOn(navigator.locks, 'query').mockImplementation(async () => {
    forgetSending(s.key)
    answer()
    await sending
    return query()
  })
  expect(await cutOff()).toEqual([])
})

test('after a day, or without a store, a file is another upload', async () => {
  const first = await cut(begin(asked, 1000))
  expect(readSendings(1000 + 86_399_999)).toEqual([first])
  expect(begin(asked, 1000 + 86_400_000).key).not.toBe(first.key)
  expect(readSendings(1000)).toEqual([]) // and what is kept does not grow
  vi.stubGlobal('localStorage', undefined)
  expect(await cutOff()).toEqual([])
  expect(begin(asked).key).not.toBe('')
})

test('without locks a tab knows of its own files', async () => {
  vi.stubGlobal('navigator', {})
  const s = begin(asked)
  let answer = () => {}
  const sending = whileSending(s, () => new Promise<void>((resolve) => (answer = resolve)))
  expect(readSendings()).toEqual([s])
  expect(await cutOff()).toEqual([])
  answer()
  await sending
  expect(await cutOff()).toEqual([s])
})

test('what may be tried again with the same key is not the end', () => {
  expect([0, 202, 401, 408, 409, 422, 429, 503].map(ended)).toEqual([
    false, true, false, false, true, true, false, false,
  ]) // prettier-ignore
})
