import { expect, test } from 'vitest'

import { asBefore } from './Draft'

test('a draft that is requested again is requested as it was', () => {
  const d = { url: 'https://shop.example/p/1', out_dir: 'out/shop' }
  expect(asBefore({ ...d, locale: 'fr-CA' })).toEqual({ ...d, locale: 'fr-CA' })
  expect(asBefore(d)).toEqual(d)
})
