import { expect, test } from 'vitest'

import { isTaken } from './PlatformSearchForm'

test('a new search has a name of its own, also beside the first one', () => {
  const site = { searches: [{ name: 'default' }, { name: 'laval' }] }
  expect(['default', 'laval', 'lava', ''].map((name) => isTaken(site, name))).toEqual([true, true, false, false])
})
