import { expect, test } from 'vitest'

import { whereTo } from './where'

test('a figure leads to the list that shows as many rows', () => {
  const since = '2026-11-23T14:00:00Z'
  expect(whereTo({ line: 'drafts' }, 'failed', since)).toEqual({
    to: '/drafts',
    search: { outcome: 'failed', since },
  })
  expect(whereTo({ line: 'crawl', runs: [7] }, 'frontier', since)).toEqual({
    to: '/crawl/7',
    search: { status: 'QUEUED' },
  })
  expect(whereTo({ line: 'crawl', runs: [7, 9] }, 'frontier', since)?.to).toBe('/crawl')
  expect(whereTo({ line: 'crawl' }, 'stored', since)).toBeUndefined()
})
