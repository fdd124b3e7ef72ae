import { createServer } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'

import { Problem } from './problem'
import { isCurrent, messagePace, sharesPace } from './queries'

const one = { pages: [{ items: [] }] }
const failed = (status: number) => isCurrent({ error: new Problem(status, '', ''), data: one })

test('a list is asked for by the clock after an error that passes, and not after one that stays', () => {
  expect(isCurrent({ error: null, data: one })).toBe(true)
  expect([0, 429, 500, 503].map(failed)).toEqual([true, true, true, true])
  expect([400, 401, 403, 404, 422].map(failed)).toEqual([false, false, false, false, false])
  expect(isCurrent({ error: null, data: { pages: [one, one] } })).toBe(false)
  expect(isCurrent({ error: null })).toBe(false)
})

/** served are the calls of the API while a server answers them with pages: page is told how many were asked for. */
async function served(page: (n: number) => { items: unknown[]; next_cursor?: string }) {
  const asked: (string | undefined)[] = []
  const server = createServer((q, answer) => {
    asked.push(q.url)
    answer.setHeader('Content-Type', 'application/json')
    answer.end(JSON.stringify(page(asked.length)))
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  onTestFinished(() => {
    server.close()
    vi.unstubAllGlobals()
  })
  const { port } = server.address() as { port: number }
  const Plain = Request
  vi.stubGlobal(
    'Request',
    class extends Plain {
      constructor(path: string, init: RequestInit) {
        super(new URL(path, `http://127.0.0.1:${port}`), init)
      }
    },
  )
  vi.resetModules()
  return { asked, ...(await import('./queries')) }
}

test('a reading that nobody waits for any more asks for no further page', async () => {
  const end = new AbortController()
  const { asked, readAdvertIDs } = await served((n) => {
    if (n === 3) end.abort()
    return { items: [], next_cursor: n < 6 ? 'more' : undefined }
  })
  await expect(readAdvertIDs({ text: 'none' }, 200, end.signal)).rejects.toMatchObject({ name: 'AbortError' })
  expect(asked).toHaveLength(3)
})

test('tenants are read to their end', async () => {
  const { asked, readTenants } = await served((n) => ({ items: [n], next_cursor: n < 3 ? `after ${n}` : undefined }))
  expect(await readTenants()).toEqual({ items: [1, 2, 3], more: false })
  expect(asked).toEqual([
    '/tenants?limit=200',
    '/tenants?limit=200&cursor=after%201',
    '/tenants?limit=200&cursor=after%202',
  ])
})

test('of more tenants than one chooses from the first are read, and it is known that there are others', async () => {
  const { asked, readTenants } = await served(() => ({ items: Array(200).fill(0), next_cursor: 'more' }))
  const { items, more } = await readTenants()
  expect([items.length, more, asked.length]).toEqual([1000, true, 5])
})

/** sent are the values of a header of the requests that are made from now on; null where it is not sent. */
function sent(header: string) {
  const values: (string | null)[] = []
  vi.stubGlobal('fetch', async (q: Request) => {
    values.push(q.headers.get(header))
    return Response.json({})
  })
  return values
}

test('a search is added only where there is none of its name', async () => {
  const values = sent('If-None-Match')
  const { addSearch, putSearch } = await served(() => ({ items: [] }))
  const search = { name: 'kijiji', search: 'laval', body: { url: 'https://www.kijiji.ca/x' } }
  await addSearch(search)
  await putSearch(search)
  expect(values).toEqual(['*', null])
})

test('a replay that is started has a key, and one that is only counted has none', async () => {
  const values = sent('Idempotency-Key')
  const { planReplay, startReplay } = await served(() => ({ items: [] }))
  await startReplay({ stage: 'normalize' }, 'k')
  await planReplay({ stage: 'normalize' })
  expect(values).toEqual(['k', null])
})

test('shares are asked for again after an error that passes, and not after one that stays', () => {
  const after = (status: number) => sharesPace(new Problem(status, '', ''))
  expect(sharesPace(null)).toBe(2_000)
  expect([0, 429, 503].map(after)).toEqual([2_000, 2_000, 2_000])
  expect([401, 403].map(after)).toEqual([false, false])
})

test('a message is asked for often for a minute after the last of its events, and seldom then', () => {
  const at = Date.parse('2026-11-18T12:00:00Z')
  const pace = (state: string, s: number) =>
    messagePace({ state, timeline: [{ at: '2026-11-18T11:00:00Z' }, { at: '2026-11-18T12:00:00Z' }] }, at + s * 1000)
  expect([pace('sent', 1), pace('sent', 61), pace('queued', 3600), pace('read', 1)]).toEqual([
    2_000,
    10_000,
    10_000,
    false,
  ])
})
