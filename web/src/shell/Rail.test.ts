import { expect, test } from 'vitest'

import { reachable } from './Rail'

test('a key of a tenant is led to no page that it is refused', () => {
  const groups = [
    { places: [{ to: '/', name: 'Today' }] },
    {
      head: 'Listings',
      places: [
        { to: '/listings', name: 'Listings' },
        { to: '/searches', name: 'Saved searches', tenants: true },
      ],
    },
  ]
  expect(reachable(groups, undefined)).toEqual(groups)
  expect(reachable(groups, 'acme').flatMap((g) => g.places.map((p) => p.to))).toEqual(['/searches'])
  expect(reachable(groups, 'acme')[0]!.head).toBe('Listings')
})
