import { expect, test } from 'vitest'

import { detailOf, pageOf } from './Activity'

test('what something was done to leads to its page', () => {
  expect(pageOf('dead-letter/12')).toBe('/dead-letters/12')
  expect(pageOf('platform/kijiji')).toBe('/platforms/kijiji')
  expect(pageOf('platform/kijiji/rooms')).toBe('/platforms/kijiji/searches/rooms')
  expect(pageOf('listing/kijiji/12')).toBe('') // no ID of a listing
  expect(pageOf('crawl-request/7b0c')).toBe('/drafts/requests/7b0c')
  for (const kind of ['upload', 'campaign', 'message']) {
    expect(pageOf(kind + '/01a2', 'demo')).toBe(`/${kind}s/01a2`)
    expect(pageOf(kind + '/01a2')).toBe('') // entries of an older release name no tenant
  }
  expect(pageOf('key/ana')).toBe('')
  expect(pageOf('dead-letters')).toBe('')
})

test('of a detail only what says something is shown', () => {
  expect(detailOf({ reason: '', tenant: 'demo', rows: 0 })).toBe('{"tenant":"demo","rows":0}')
  expect(detailOf({ reason: '' })).toBe('')
  expect(detailOf(undefined)).toBe('')
})
