import { expect, test } from 'vitest'

import { funnel } from './funnel'

test('what was read was delivered, and what was delivered was sent', () => {
  const counts = { total: 100, waiting: 10, unknown: 1, sent: 20, delivered: 30, read: 25, failed: 9, skipped: 5 }
  expect(funnel(counts).map((s) => [s.name, s.n, s.of])).toEqual([
    ['total', 100, 10],
    ['sent', 75, 20],
    ['delivered', 55, 30],
    ['read', 25, 25],
    ['failed', 9, 9],
  ])
  expect(funnel(counts)[0]!.state).toBe('queued,sending')
  const none = funnel({ total: 0, waiting: 0, unknown: 0, sent: 0, delivered: 0, read: 0, failed: 0, skipped: 0 })
  expect(none.every((s) => s.share === 0)).toBe(true)
})
