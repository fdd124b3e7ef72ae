import { expect, test } from 'vitest'

import { frame } from './Locator'

test('a place is shown with what surrounds it', () => {
  const box = frame(undefined, [-73.58, 45.53])!
  expect(box[2] - box[0]).toBeGreaterThan(0.015)
  const district = [[[[-73.6, 45.5], [-73.5, 45.5], [-73.5, 45.6], [-73.6, 45.6]]]] // prettier-ignore
  const around = frame(district, undefined)!
  expect(around[0]).toBeLessThan(-73.65)
  expect(around[3]).toBeGreaterThan(45.65)
  expect(frame(undefined, undefined)).toBeUndefined()
})
