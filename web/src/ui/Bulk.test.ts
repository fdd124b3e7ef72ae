import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Say } from '../say/Say'
import { Bulk } from './Bulk'

vi.stubGlobal('navigator', { language: 'en' })

test('of how many is not said before it is counted', () => {
  const dialog = createElement(Bulk, {
    title: 'Replay all',
    filter: 'Every open dead letter.',
    act: () => new Promise(() => {}),
    button: (n) => `Replay ${n}`,
    done: () => '',
    stale: [],
    onClose: () => {},
  })
  const said = renderToStaticMarkup(
    createElement(QueryClientProvider, {
      client: new QueryClient(),
      children: createElement(Say, { home: 'UTC', children: dialog }),
    }),
  )
  expect(said).toContain('Counting …')
  expect(said).toContain('>Replay …</button>')
})
