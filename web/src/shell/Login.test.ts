import { expect, test } from 'vitest'

import { pageOf } from './Login'

test('a login leads back to the page that was asked for, with all values of its filters', () => {
  const page = (to: string) => pageOf(to, 'http://127.0.0.1:8080')
  expect(page('/ui/listings?rooms=3.5&rooms=4.5&text=a')).toEqual({
    to: '/listings',
    search: { rooms: '3.5,4.5', text: 'a' },
  })
  for (const other of [
    '/ui',
    '/ui/',
    '/uix?a=b',
    '//evil.example/ui/?a=b',
    'https://evil.example/ui/keys',
    '/ui/../keys',
  ])
    expect(page(other)).toEqual({ to: '/', search: {} })
})
