import { expect, test } from 'vitest'

import { Layout } from './layout'
import { site } from './site.test.data'
import { Tree, type Columns } from './tree'

const of = (c: Columns) => {
  const tree = new Tree()
  tree.put(c, 1e6)
  return { tree, layout: new Layout(tree) }
}

/** overlap is two discs that do, or undefined. */
function overlap(l: Layout) {
  const order = l.x.map((_, i) => i).sort((a, b) => l.x[a]! - l.r[a]! - (l.x[b]! - l.r[b]!))
  for (let a = 0; a < order.length; a++)
    for (let b = a + 1; b < order.length; b++) {
      const [i, j] = [order[a]!, order[b]!]
      if (l.x[j]! - l.r[j]! > l.x[i]! + l.r[i]!) break
      if (Math.hypot(l.x[i]! - l.x[j]!, l.y[i]! - l.y[j]!) < l.r[i]! + l.r[j]!) return [i, j]
    }
  return undefined
}

/** outside is a URL that is not on its disc, or undefined. */
function outside(tree: Tree, l: Layout) {
  for (let i = 0; i < tree.n; i++) {
    const d = tree.disc[i]!
    if (d < 0 || !(Math.hypot(tree.x[i]! - l.x[d]!, tree.y[i]! - l.y[d]!) <= l.r[d]! - 2)) return i
  }
  return undefined
}

test('50,000 URLs have places in bounded time, and no two discs overlap', () => {
  const { tree, layout } = of(site(50_000))
  expect(tree.n).toBe(50_000)
  const begun = performance.now()
  layout.arrange()
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(layout.x.length).toBeGreaterThan(500)
  expect(overlap(layout)).toBeUndefined()
  expect(outside(tree, layout)).toBeUndefined()
})

test('nothing moves when URLs come, and discs stay apart', () => {
  const { tree, layout } = of(site(2_000))
  layout.arrange()
  for (const n of [2_001, 2_010, 4_000, 9_000]) {
    const [x, y] = [tree.x.slice(0, tree.n), tree.y.slice(0, tree.n)]
    const before = tree.n
    tree.put(site(n, before + 1), 1e6)
    layout.grow()
    expect(tree.n).toBe(n)
    expect(tree.x.slice(0, before)).toEqual(x)
    expect(tree.y.slice(0, before)).toEqual(y)
    expect(overlap(layout)).toBeUndefined()
    expect(outside(tree, layout)).toBeUndefined()
  }
})

test('a run that is followed from its seed', () => {
  const { tree, layout } = of(site(1))
  layout.grow()
  for (let n = 2; n < 400; n += 7) {
    tree.put(site(n, tree.n + 1), 1e6)
    layout.grow()
  }
  expect(overlap(layout)).toBeUndefined()
  expect(outside(tree, layout)).toBeUndefined()
})

test.each<[string, (id: number) => number]>([
  ['a chain', (id) => id - 1],
  ['one page with all', (id) => (id === 1 ? 0 : 1)],
  ['what a sitemap lists', () => 0],
  ['pages with one link each', (id) => (id < 2 ? 0 : id % 2 === 0 ? 1 : id - 1)],
])('%s of 5,000 URLs', (_, parent) => {
  const ids = Array.from({ length: 5_000 }, (_, i) => i + 1)
  const { tree, layout } = of({
    ids,
    parents: ids.map(parent),
    states: ids.map(() => 'QUEUED'),
    paths: ids.map(() => '/'),
  })
  layout.arrange()
  expect(tree.n).toBe(5_000)
  expect(overlap(layout)).toBeUndefined()
  expect(outside(tree, layout)).toBeUndefined()
  const b = layout.bounds()
  expect(b.right - b.left).toBeLessThan(1e6)
})

test('URLs may come before their parents, in any order, and are bounded', () => {
  const c = site(300)
  const back: Columns = {
    ids: c.ids.toReversed(),
    parents: c.parents.toReversed(),
    states: c.states.toReversed(),
    paths: c.paths.toReversed(),
  }
  const { tree } = of(back)
  expect(tree.n).toBe(300)
  for (let i = 1; i < tree.n; i++) expect(tree.parent[i]!).toBeLessThan(i)
  expect(tree.sizes()[0]).toBe(300)

  const small = new Tree()
  expect(small.put(back, 100)).toBe(true)
  expect(small.n).toBe(100)
  const orphan = new Tree()
  orphan.put({ ids: [1, 9], parents: [0, 8], states: ['VISITED', 'QUEUED'], paths: ['/', '/9'] }, 100)
  expect(orphan.n).toBe(1)
  orphan.put({ ids: [8, 1], parents: [1, 0], states: ['QUEUED', 'FAILED'], paths: ['/8', '/'] }, 100)
  expect([orphan.n, orphan.of(9), orphan.state[0]]).toEqual([3, 2, 7])
})
