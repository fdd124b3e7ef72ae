import { expect, test } from 'vitest'

import { isFull } from './Tenants'

test('a tenant is full when it has as many contacts as it may have', () => {
  expect(isFull({ contacts: 5, max_contacts: 5 })).toBe(true)
  expect(isFull({ contacts: 4, max_contacts: 5 })).toBe(false)
  expect(isFull({ contacts: 0, max_contacts: 0 })).toBe(true)
  expect(isFull({ contacts: 5_000_000 })).toBe(false)
})
