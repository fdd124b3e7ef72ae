import { expect, test } from 'vitest'

import { criteriaOf } from './criteria'

test('the filters of listings are the filter of a search, and what it cannot have is said', () => {
  expect(
    criteriaOf({
      view: 'map',
      sort: 'price',
      status: 'active',
      text: 'balcon, "eau chaude"',
      platform: 'kijiji',
      max_price: '1600',
      rooms: '3.5,4.5',
      parking: 'indoor',
      bbox: '-73.7,45.4,-73.5,45.6',
      has_images: 'yes',
    }),
  ).toEqual({
    filter: {
      text: 'balcon, "eau chaude"',
      platform: 'kijiji',
      max_price: 1600,
      rooms: [3.5, 4.5],
      parking: ['indoor'],
      bbox: [-73.7, 45.4, -73.5, 45.6],
      has_images: true,
    },
    left: [],
  })
  expect(
    criteriaOf({ platform: 'kijiji,centris', status: 'archived', has_images: 'no', updated_since: '2026-11-01' }),
  ).toEqual({ filter: {}, left: ['platform', 'status', 'has_images', 'updated_since'] })
  expect(criteriaOf({ status: 'claimed' })).toEqual({ filter: { claimed: true }, left: [] })
  expect(criteriaOf({ status: 'active,claimed' })).toEqual({ filter: {}, left: ['status'] })
})
