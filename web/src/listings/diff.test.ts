import { expect, test } from 'vitest'

import { changes, words } from './diff'

test('payloads differ by the paths of their values', () => {
  const was = { title: '4½', price: 1560, attributes: { heat: ['0'], pets: ['1', '2'] }, images: [{ url: 'a' }] }
  const now = { title: '4½', price: 1485, attributes: { pets: ['1'] }, images: [{ url: 'a' }, { url: 'b' }], url: 'u' }
  expect(changes(was, now)).toEqual([
    { path: 'attributes.heat', was: '0', now: undefined },
    { path: 'attributes.pets', was: '1, 2', now: '1' },
    { path: 'images.1.url', was: undefined, now: 'b' },
    { path: 'price', was: '1560', now: '1485' },
    { path: 'url', was: undefined, now: 'u' },
  ])
  expect(changes(was, was)).toEqual([])
  expect(changes(null, undefined)).toEqual([])
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => ['k' + i, i]))
  expect(changes({}, many)).toHaveLength(200)
})

test('texts differ by words, and both can be told from the parts', () => {
  for (const [was, now] of [
    ['Beau grand 4½ chauffé, libre', 'Beau 4½ non chauffé, libre maintenant'],
    ['', 'new'],
    ['gone', ''],
    ['same words', 'same words'],
    ['a b c d', 'd c b a'],
    ['x '.repeat(3000), 'y '.repeat(3000)],
  ] as const) {
    const parts = words(was, now)
    const of = (kind: string) => parts.filter((p) => p.kind === 'same' || p.kind === kind).map((p) => p.text).join('') // prettier-ignore
    expect(of('gone')).toBe(was)
    expect(of('new')).toBe(now)
  }
  expect(words('un chat accepté', 'un chien accepté').map((p) => p.kind)).toEqual(['same', 'gone', 'new', 'same'])
})
