import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test, vi } from 'vitest'

import { Say } from '../say/Say'
import { One, type Field } from './Filter'

vi.stubGlobal('navigator', { language: 'en' })

const field: Field = {
  name: 'sort',
  label: 'Order',
  options: ['newest', 'price'].map((value) => ({ value, label: `the ${value}` })),
}
const options = (f: Field, value: string) =>
  [
    ...renderToStaticMarkup(
      createElement(Say, {
        home: 'America/Toronto',
        children: createElement(One, { field: f, value, onChange: () => {} }),
      }),
    ).matchAll(/<option value="(\w*)"( selected="")?>([^<]+)/g),
  ].map((m) => `${m[1]}=${m[3]}${m[2] ? '!' : ''}`)

test('no choice is called what it means, and stands once', () => {
  expect(options(field, '')).toEqual(['=any!', 'newest=the newest', 'price=the price'])
  for (const several of [false, true])
    expect(options({ ...field, usual: 'newest', several }, '')).toEqual(['=the newest!', 'price=the price'])
  expect(options({ ...field, usual: 'newest' }, 'newest')).toEqual(['=the newest!', 'price=the price'])
})

test('a choice that is none of the options is shown all the same', () => {
  expect(options({ ...field, usual: 'newest' }, 'rooms')).toEqual(['=the newest', 'rooms=rooms!', 'price=the price'])
})
