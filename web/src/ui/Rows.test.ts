import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Say } from '../say/Say'
import { NoRows, toggled, type Pages } from './Rows'

vi.stubGlobal('navigator', { language: 'en' })

test('one of all that is not wanted leaves the others chosen', () => {
  const rows = ['a', 'b', 'c']
  const none = { ids: new Set<string>(), all: false }
  expect([...toggled({ ...none, all: true }, 'b', rows)]).toEqual(['a', 'c'])
  expect([...toggled(none, 'b', rows)]).toEqual(['b'])
  expect([...toggled({ ...none, ids: new Set(['a', 'b']) }, 'b', rows)]).toEqual(['a'])
})

test('a list says that nothing matches only when no further page is to be read', () => {
  const shown = (pages: Partial<Pages<string>>) =>
    renderToStaticMarkup(
      createElement(Say, {
        home: 'America/Toronto',
        children: createElement(NoRows<string>, { pages: pages as Pages<string>, empty: 'Nothing matches.' }),
      }),
    )
  expect(shown({ hasNextPage: true })).toContain('Reading more')
  expect(shown({ hasNextPage: false })).toBe('Nothing matches.')
  expect(shown({ hasNextPage: true, error: new Error('away') })).toContain('Try again')
})
