import { expect, test } from 'vitest'

import { around, classOf, cross, middle, outline, parseBox, path, projection, steps, writeBox, type Box } from './geo'

test('a box is written and read back', () => {
  for (const box of [[-73.6, 45.5, -73.5, 45.6] as Box, [-180, -90, 180, 90] as Box]) {
    expect(parseBox(writeBox(box))).toEqual(box)
  }
  expect(writeBox([-200, -95, 190, 91])).toBe('-180,-90,180,90')
  for (const wrong of ['', undefined, '1,2,3', '1,2,3,x', '3,2,1,4', '1,,3,4', 'NaN,1,2,3']) {
    expect(parseBox(wrong), String(wrong)).toBeUndefined()
  }
})

test('boxes have something in common, or nothing', () => {
  expect(cross([0, 0, 2, 2], [1, 1, 3, 3])).toEqual([1, 1, 2, 2])
  expect(cross([0, 0, 1, 1], [1, 1, 2, 2])).toBeUndefined()
  expect(around([])).toBeUndefined()
})

const square = [[[[-73.6, 45.5], [-73.5, 45.5], [-73.5, 45.6], [-73.6, 45.6], [-73.6, 45.5]]]] // prettier-ignore

test('a projection keeps the box in its window, north up, east right', () => {
  const box = around(outline(square))!
  const at = projection(box, 300, 200)
  for (const p of outline(square)) {
    const [x, y] = at(p)
    expect(x).toBeGreaterThanOrEqual(-0.01)
    expect(x).toBeLessThanOrEqual(300.01)
    expect(y).toBeGreaterThanOrEqual(-0.01)
    expect(y).toBeLessThanOrEqual(200.01)
  }
  expect(at([-73.5, 45.6])[0]).toBeGreaterThan(at([-73.6, 45.6])[0])
  expect(at([-73.5, 45.6])[1]).toBeLessThan(at([-73.5, 45.5])[1])
  // A kilometre is as long to the east as to the north.
  const [x0, y0] = at([-73.55, 45.55])
  const north = y0 - at([-73.55, 45.55 + 1 / 111.2])[1]
  const east = at([-73.55 + 1 / (111.2 * Math.cos((45.55 * Math.PI) / 180)), 45.55])[0] - x0
  expect(east / north).toBeCloseTo(1, 2)
  // A box without extent is a point in the middle.
  expect(projection([1, 1, 1, 1], 10, 10)([1, 1])).toEqual([5, 5])
})

test('a name is in the middle of its district', () => {
  const [x, y] = middle(square)!
  expect(x).toBeCloseTo(-73.55)
  expect(y).toBeCloseTo(45.55)
  expect(middle([])).toBeUndefined()
  expect(path(square, (p) => [p[0]!, p[1]!])).toMatch(/^M-73\.6 45\.5L.*Z$/)
})

test('classes have about as many values each', () => {
  expect(steps([1, 2, 3, 4, 5, 6, 7, 8], 4)).toEqual([3, 5, 7])
  expect(steps([5, 5, 5, 5], 4)).toEqual([])
  expect(steps([], 4)).toEqual([])
  expect([1, 3, 4, 9].map((v) => classOf(v, [3, 5]))).toEqual([0, 1, 1, 2])
})
