import { expect, test } from 'vitest'

import { actedOn, keyOf } from './keys'

const press = (key: string, held: { shift?: boolean; ctrl?: boolean; meta?: boolean } = {}) =>
  keyOf({ key, shiftKey: !!held.shift, ctrlKey: !!held.ctrl, metaKey: !!held.meta })

test('keys are named as shortcuts name them', () => {
  expect(press('j')).toBe('j')
  expect(press('X', { shift: true })).toBe('shift+x')
  expect(press('k', { meta: true })).toBe('mod+k')
  expect(press('k', { ctrl: true })).toBe('mod+k')
  // Shift belongs to these characters on some keyboards and not on others.
  expect(press('?', { shift: true })).toBe('?')
  expect(press('*', { shift: true })).toBe('*')
  expect(press('Escape', { shift: true })).toBe('Escape')
})

/** An element of a test, with those inside it. */
class Part {
  readonly inside: Part[]
  constructor(...inside: Part[]) {
    this.inside = inside
  }
  contains = (other: Part | null): boolean => other === this || this.inside.some((e) => e.contains(other))
}

test('a key acts on the item that has the focus, and else on the page', () => {
  const [own, first, second] = [new Part(), new Part(), new Part()]
  const link = new Part()
  const items = [new Part(first), new Part(link, second), new Part(new Part())]
  const may = [first, own, second]
  expect(actedOn(may, items, link)).toBe(second)
  expect(actedOn(may, items, items[0]!)).toBe(first)
  expect(actedOn(may, items, null), 'no focus').toBe(own)
  expect(actedOn(may, items, new Part()), 'the focus is elsewhere').toBe(own)
  expect(actedOn(may, items, items[2]!), 'nothing in the item').toBe(own)
  expect(actedOn([first, second], items, null), 'only in items').toBeUndefined()
  expect(actedOn([], items, link)).toBeUndefined()
})
