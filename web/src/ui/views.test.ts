import { beforeEach, expect, test, vi } from 'vitest'

import { addView, mostViews, readViews, removeView, walkViews } from './views'

beforeEach(() => {
  const kept = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    getItem: (k: string) => kept.get(k) ?? null,
    setItem: (k: string, v: string) => void kept.set(k, v),
  })
})

const view = (name: string, search = '?a=' + name, path = '/listings') => ({ name, path, search })

test('views are kept by page, and one of a name replaces the other', () => {
  addView(view('cheap'))
  addView(view('dear'))
  addView(view('dear', '?b=1'))
  addView(view('missing', '', '/refused'))
  expect(readViews('/listings').map((v) => v.search)).toEqual(['?a=cheap', '?b=1'])
  expect(readViews('/refused')).toHaveLength(1)
  removeView(view('cheap'))
  expect(readViews('/listings').map((v) => v.name)).toEqual(['dear'])
})

test('a page has a bounded number of views', () => {
  for (let i = 0; i < mostViews; i++) expect(addView(view(String(i)))).toBe(true)
  expect(addView(view('one more'))).toBe(false)
  expect(addView(view('3', '?new'))).toBe(true)
  expect(readViews('/listings')).toHaveLength(mostViews)
})

test('what storage has in another form counts as none', () => {
  for (const wrong of [
    '',
    '{',
    'null',
    '5',
    '[5, null, {"name": 1}]',
    '[{"name": "", "path": "/listings", "search": ""}]',
  ]) {
    localStorage.setItem('views', wrong)
    expect(readViews('/listings'), wrong).toEqual([])
  }
})

test('views are walked in a circle', () => {
  const views = [view('a'), view('b'), view('c')]
  expect(walkViews(views, '?a=a', 1)?.name).toBe('b')
  expect(walkViews(views, '?a=c', 1)?.name).toBe('a')
  expect(walkViews(views, '?a=a', -1)?.name).toBe('c')
  expect(walkViews(views, '?other', 1)?.name).toBe('a')
  expect(walkViews(views, '?other', -1)?.name).toBe('c')
  expect(walkViews([], '', 1)).toBeUndefined()
})
