import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Problem } from '../api/problem'
import { Say } from '../say/Say'
import { Boundary } from './Boundary'

vi.stubGlobal('navigator', { language: 'en' })

const said = (error: unknown) =>
  renderToStaticMarkup(
    createElement(Say, {
      home: 'UTC',
      children: createElement(Boundary, { error, reset: () => {} } as Parameters<typeof Boundary>[0]),
    }),
  )

test('a fault of a page is not said to be one of the API', () => {
  const page = said(new TypeError("Cannot read properties of undefined (reading 'map')"))
  expect(page).toContain('This part of the page failed')
  expect(page).toContain('reading &#x27;map&#x27;')
  expect(page).not.toContain('does not answer')
})

test('a problem of the API is shown as one', () => {
  expect(said(new Problem(500, 'Internal Server Error', 'out of memory'))).toContain('Internal Server Error')
})

test.each([
  'Failed to fetch dynamically imported module: https://a/ui/assets/Run-1.js',
  'error loading dynamically imported module: https://a/ui/assets/Run-1.js',
  'Importing a module script failed.',
  'Unable to preload CSS for /ui/assets/Run-1.css',
])('a file that is gone is a new version: %s', (message) => {
  expect(said(new TypeError(message))).toContain('A new version is here')
})
