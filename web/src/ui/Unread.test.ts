import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Problem } from '../api/problem'
import { Say } from '../say/Say'
import { NoRows, type Pages } from './Rows'
import { Unread } from './Unread'

vi.stubGlobal('navigator', { language: 'en' })

const drawn = (element: ReturnType<typeof createElement>) =>
  renderToStaticMarkup(createElement(Say, { home: 'America/Toronto', children: element }))
const page = (q: { error?: unknown; failureReason?: unknown }) =>
  drawn(createElement(Unread, { of: { error: null, refetch: () => {}, ...q }, title: '3f2a', crumbs: 'Listings' }))
const list = (q: object) =>
  drawn(
    createElement(NoRows<string>, { pages: { error: null, isPending: true, ...q } as Pages<string>, empty: 'none' }),
  )

const gone = new Problem(404, 'Not Found', 'there is no listing 3f2a')
const wait = new Problem(429, 'Too Many Requests', 'the caller asks too often', [], 30)

test('a page says that it is read', () => {
  expect(page({})).toContain('Reading')
  expect(list({})).toContain('Reading')
})

test('what is not there leaves the name of the page and the way back', () => {
  for (const said of ['3f2a</span></h1>', 'Listings', 'Not Found', 'there is no listing 3f2a', 'Try again'])
    expect(page({ error: gone })).toContain(said)
  expect(page({ error: gone })).not.toContain('Reading')
})

test('how long the API asks to wait is said while the query waits', () => {
  expect(page({ failureReason: wait })).toContain('Try again in 30 s.')
  expect(list({ failureReason: wait })).toContain('Try again in 30 s.')
  for (const said of [page({ failureReason: wait }), list({ failureReason: wait })])
    expect(said).not.toContain('<button')
  expect(list({ error: wait, failureReason: wait, isPending: false })).toContain('Try again</button>')
})

test('a filter that a list does not know is left to the bar that can remove it', () => {
  const refused = (...messages: string[]) =>
    new Problem(
      422,
      'Unprocessable Entity',
      'validation failed',
      messages.map((message) => ({ message, location: 'query.flavour' })),
    )
  expect(list({ error: refused('unknown query parameter'), isPending: false })).toBe('')
  expect(list({ error: refused('unknown query parameter', 'expected integer'), isPending: false })).toContain('flavour')
})

test('a failure that is tried again at once is not shown', () => {
  expect(page({ failureReason: new Problem(503, 'Service Unavailable', '') })).toContain('Reading')
})
