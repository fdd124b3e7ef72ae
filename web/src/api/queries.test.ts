import { createServer } from 'node:http'
import { expect, test, vi } from 'vitest'

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

test('a reading that nobody waits for any more asks for no further page', async () => {
  const end = new AbortController()
  let asked = 0
  const server = createServer((_, answer) => {
    if (++asked === 3) end.abort()
    answer.setHeader('Content-Type', 'application/json')
    answer.end(JSON.stringify({ items: [], next_cursor: asked < 6 ? 'more' : undefined }))
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
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
  const { readAdvertIDs } = await import('./queries')
  await expect(readAdvertIDs({ text: 'none' }, 200, end.signal)).rejects.toMatchObject({ name: 'AbortError' })
  expect(asked).toBe(3)
  server.close()
  vi.unstubAllGlobals()
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
