import { expect, test } from 'vitest'

import { reachable } from './Rail'

test('a key is led to no page that it is refused', () => {
  const groups = [
    { places: [{ to: '/', name: 'Today' }] },
    {
      head: 'Listings',
      places: [
        { to: '/listings', name: 'Listings' },
        { to: '/searches', name: 'Saved searches', tenants: true },
      ],
    },
    {
      head: 'Operations',
      places: [
        { to: '/tenants', name: 'Tenants', role: 'operate' as const },
        { to: '/keys', name: 'Keys', role: 'admin' as const },
      ],
    },
  ]
  const of = (caller: Parameters<typeof reachable>[1]) =>
    reachable(groups, caller).flatMap((g) => g.places.map((p) => p.to))
  expect(reachable(groups, undefined)).toEqual(groups)
  expect(of({ role: 'admin', tenant: 'acme' })).toEqual(['/searches'])
  expect(reachable(groups, { role: 'read', tenant: 'acme' })[0]!.head).toBe('Listings')
  expect(of({ role: 'read' })).toEqual(['/', '/listings', '/searches'])
  expect(of({ role: 'operate' })).toEqual(['/', '/listings', '/searches', '/tenants'])
  expect(of({ role: 'admin' })).toEqual(['/', '/listings', '/searches', '/tenants', '/keys'])
})
