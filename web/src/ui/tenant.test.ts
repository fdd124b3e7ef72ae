import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Problem } from '../api/problem'
import { Say } from '../say/Say'
import { mustType, TenantOptions } from './tenant'

vi.stubGlobal('navigator', { language: 'en' })

const tenants = [
  { id: 'acme', name: 'Acme' },
  { id: 'bell', name: 'Bell' },
]
const values = (chosen: string, of = tenants) =>
  [
    ...renderToStaticMarkup(
      createElement(Say, { home: 'America/Toronto', children: createElement(TenantOptions, { tenants: of, chosen }) }),
    ).matchAll(/<option value="(\w*)">/g),
  ].map((m) => m[1])

test('a tenant that there is not stands for no other', () => {
  expect(values('bell')).toEqual(['acme', 'bell'])
  expect(values('')).toEqual(['', 'acme', 'bell'])
  expect(values('gone')).toEqual(['', 'acme', 'bell'])
  expect(values('acme', tenants.slice(0, 1))).toEqual(['acme'])
})

test('who may not list tenants, or sees not all, types the ID of one, unless they are of one', () => {
  const refused = (status: number) => ({ error: new Problem(status, '', '') })
  expect(mustType(refused(403), undefined)).toBe(true)
  expect(mustType(refused(403), 'acme')).toBe(false)
  expect([0, 429, 503].map((status) => mustType(refused(status), undefined))).toEqual([false, false, false])
  expect(mustType({ error: null }, undefined)).toBe(false)
  expect(mustType({ error: null, data: { more: false } }, undefined)).toBe(false)
  expect(mustType({ error: null, data: { more: true } }, undefined)).toBe(true)
})
