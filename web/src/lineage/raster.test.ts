import { expect, test } from 'vitest'

import { labels, tail } from './labels'
import { Layout } from './layout'
import { paint } from './paint'
import { Panned, slide } from './pan'
import { into, nearest, toward, wayTo } from './pick'
import { mark, mix, Raster, rgb, type Shape } from './raster'
import { site } from './site.test.data'
import { Tree } from './tree'

const [white, black, red] = [rgb(255, 255, 255), rgb(0, 0, 0), rgb(255, 0, 0)]
const colours = {
  paper: white,
  ink: black,
  rule: rgb(200, 200, 200),
  wait: rgb(90, 90, 90),
  busy: rgb(200, 150, 20),
  done: rgb(40, 140, 120),
  moved: rgb(40, 90, 130),
  failed: red,
  skipped: rgb(180, 190, 185),
}

/** dark is how much of a picture is drawn, in whole pixels. */
const dark = (r: Raster) => r.px.reduce((sum, p) => sum + (255 - (p & 255)) / 255, 0)

test('colours are mixed', () => {
  expect(mix(black, white, 0)).toBe(white)
  expect(mix(rgb(10, 20, 30), rgb(110, 120, 130), 128)).toBe(rgb(60, 70, 80))
  expect(mix(white, black, 255) & 255).toBeGreaterThan(252)
})

test.each<[Shape, (r: number) => number]>([
  ['dot', (r) => Math.PI * r * r],
  ['square', (r) => 4 * r * r],
  ['diamond', (r) => 2 * r * r],
  ['ring', (r) => Math.PI * (r * r - (r - 1) ** 2)],
  ['frame', (r) => 4 * (r * r - (r - 1) ** 2)],
])('a %s covers its area, wherever it lies', (shape, area) => {
  for (const r of [1.5, 3, 6])
    for (const x of [20, 20.3, 20.8]) {
      const to = new Raster(40, 40)
      to.clear(white)
      to.draw(mark(shape, r), x, 20.6, black)
      expect(Math.abs(dark(to) - area(r)) / area(r)).toBeLessThan(0.2)
    }
})

test('lines cover their length, and nothing is drawn outside', () => {
  const to = new Raster(60, 40)
  to.clear(white)
  to.line(10, 10, 40, 22, black)
  expect(dark(to)).toBeGreaterThan(28)
  expect(dark(to)).toBeLessThan(33)
  to.clear(white)
  for (const [x0, y0, x1, y1] of [
    [-50, -50, -1, 20],
    [1e7, 3, 2e7, 9],
    [NaN, 0, 5, 5],
    [0, 1e9, 9, 2e9],
  ] as const)
    to.line(x0, y0, x1, y1, black)
  to.draw(mark('dot', 5), -90, 20, black)
  to.draw(mark('dot', 5), NaN, 20, black)
  expect(dark(to)).toBe(0)
  for (let i = 0; i < 500; i++) {
    const a = i * 2.399963
    to.line(30, 20, 30 + 1000 * Math.cos(a), 20 + 1000 * Math.sin(a), black)
    to.draw(mark('ring', 4), 30 + 40 * Math.cos(a), 20 + 30 * Math.sin(a), black)
  }
  expect(to.px.length).toBe(60 * 40)
})

const drawn = (n: number) => {
  const tree = new Tree()
  tree.put(site(n), 1e6)
  const layout = new Layout(tree)
  layout.arrange()
  const b = layout.bounds()
  const k = Math.min(1000 / (b.right - b.left), 560 / (b.bottom - b.top))
  return { tree, layout, view: { k, x: 500 - ((b.left + b.right) / 2) * k, y: 280 - ((b.top + b.bottom) / 2) * k } }
}

test('50,000 URLs are drawn in bounded time; a filter dims the others', () => {
  const { tree, layout, view } = drawn(50_000)
  const to = new Raster(1000, 560)
  const begun = performance.now()
  for (let i = 0; i < 3; i++) paint(to, tree, layout, view, 1, colours)
  expect(performance.now() - begun).toBeLessThan(10_000)
  const all = dark(to)
  expect(all).toBeGreaterThan(20_000)
  const lit = new Uint8Array(tree.n)
  paint(to, tree, layout, view, 1, colours, lit)
  expect(dark(to)).toBeLessThan(all / 2)
})

test('a picture that moves is the one that is drawn there', () => {
  const { tree, layout, view } = drawn(20_000)
  const [width, height] = [500, 280]
  for (const k of [0.4, 1, 6]) {
    const p = new Panned(width, height)
    let at = { k: view.k * k, x: 250, y: 140 }
    p.paint(tree, layout, at, 1, colours, undefined, false, false)
    for (const [dx, dy] of [
      [7, 0],
      [0, -9],
      [-23, 14],
      [1, 1],
      [-120, -90],
      [0, 0],
      [400, 3], // too far: drawn anew
    ] as const) {
      at = { k: at.k, x: at.x + dx, y: at.y + dy }
      p.paint(tree, layout, at, 1, colours, undefined, false, false)
      const whole = new Raster(width, height)
      paint(whole, tree, layout, at, 1, colours)
      let off = 0
      // A line may differ by a shade, and at the edges, where it ends.
      for (let i = 0; i < whole.px.length; i++)
        if ([0, 8, 16].some((b) => Math.abs(((p.to.px[i]! >> b) & 255) - ((whole.px[i]! >> b) & 255)) > 6)) off++
      expect(off / whole.px.length, `${k}: ${dx} ${dy}`).toBeLessThan(0.01)
    }
  }
})

test('a picture that has changed is drawn anew', () => {
  const { tree, layout, view } = drawn(3_000)
  const p = new Panned(300, 200)
  p.paint(tree, layout, view, 1, colours, undefined, false, false)
  const lit = new Uint8Array(tree.n)
  p.forget()
  p.paint(tree, layout, { ...view, x: view.x + 1 }, 1, colours, lit, false, false)
  const whole = new Raster(300, 200)
  paint(whole, tree, layout, { ...view, x: view.x + 1 }, 1, colours, lit)
  expect(p.to.px).toEqual(whole.px)

  p.paint(tree, layout, { ...view, x: view.x + 1 }, 2, colours, lit, false, false)
  paint(whole, tree, layout, { ...view, x: view.x + 1 }, 2, colours, lit)
  expect(p.to.px).toEqual(whole.px)
})

test.each([
  [1, 0],
  [-2, 0],
  [0, 1],
  [0, -2],
  [2, 1],
  [-1, -1],
  [1, -2],
])('a picture is moved by %i, %i', (dx, dy) => {
  const r = new Raster(5, 4)
  const was = r.px.map((_, i) => i + 1)
  r.px.set(was)
  slide(r, dx, dy)
  for (let y = 0; y < 4; y++)
    for (let x = 0; x < 5; x++) {
      const [fx, fy] = [x - dx, y - dy]
      if (fx >= 0 && fy >= 0 && fx < 5 && fy < 4) expect(r.px[y * 5 + x]).toBe(was[fy * 5 + fx])
    }
})

test('what lies where', () => {
  const { tree } = drawn(3_000)
  for (let i = 0; i < tree.n; i += 97) expect(nearest(tree, tree.x[i]!, tree.y[i]!, 1)).toBe(i)
  expect(nearest(tree, 1e6, 0, 10)).toBe(-1)
  const right = toward(tree, 0, 1, 0)
  expect(tree.x[right]!).toBeGreaterThan(tree.x[0]!)
  expect(toward(tree, right, -1, 0)).toBeGreaterThanOrEqual(0)
  const below = into(tree, 0)
  expect(tree.parent[below]).toBe(0)
  expect(tree.kids[below]).toBeGreaterThan(0)
  expect(wayTo(tree, below)).toEqual([0, below])
})

test('labels are few, apart from each other, and only text', () => {
  const { tree, layout, view } = drawn(20_000)
  for (let i = 0; i < tree.n; i++) tree.paths[i] = '/a/' + '\u202e<script>' + 'x'.repeat(10_000)
  for (const k of [1, 3, 8]) {
    const named = labels(tree, layout, { k: view.k * k, x: 500, y: 280 }, 1000, 560)
    expect(named.length).toBeGreaterThan(0)
    expect(named.length).toBeLessThanOrEqual(40)
    for (const l of named) expect(l.text.length).toBeLessThanOrEqual(28)
  }
})

test.each([
  ['/', '/'],
  ['', '/'],
  ['/api/', 'api/'],
  ['/api/generated/latextools.html', 'latextools.html'],
  ['/search?q=a&b=c', 'search?q=a&b=c'],
  ['/\u202egpj.exe', 'gpj.exe'],
  ['/' + 'é'.repeat(40), 'é'.repeat(27) + '…'],
])('the end of %s', (path, text) => expect(tail(path)).toBe(text))
