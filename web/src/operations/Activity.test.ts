import { expect, test } from 'vitest'

import { pageOf } from './Activity'

test('what something was done to leads to its page', () => {
  expect(pageOf('dead-letter/12')).toBe('/dead-letters/12')
  expect(pageOf('platform/kijiji')).toBe('/platforms/kijiji')
  expect(pageOf('platform/kijiji/rooms')).toBe('/platforms/kijiji/searches/rooms')
  expect(pageOf('listing/kijiji/12')).toBe('') // no ID of a listing
  expect(pageOf('key/ana')).toBe('')
  expect(pageOf('dead-letters')).toBe('')
})
