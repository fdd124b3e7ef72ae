import { expect, test } from 'vitest'

import { strokes, within } from './strokes'

const since = Date.parse('2026-11-23T10:00:00Z')
const part = within(since, Date.parse('2026-11-23T11:00:00Z'))
const gap = 75_000 // ms
const at = (minute: number, ready: number, in_rate?: number) => ({
  at: new Date(since + minute * 60_000).toISOString(),
  ready,
  in_rate,
})

test('a gap between samples is no line', () => {
  const runs = strokes([at(0, 1), at(0.5, 2), at(30, 3), at(30.5, 4)], part, gap, (p) => p.ready)
  expect(runs.map((r) => r.map(([, v]) => v))).toEqual([
    [1, 2],
    [3, 4],
  ])
  expect(runs[1]![0]![0]).toBe(0.5)
})

test('a figure that is not known ends a run', () => {
  const runs = strokes([at(0, 1, 5), at(0.5, 2), at(1, 3, 7)], part, gap, (p) => p.in_rate)
  expect(runs.map((r) => r.map(([, v]) => v))).toEqual([[5], [7]])
})

test('samples outside of the window stay at its edge', () => {
  expect(strokes([at(-1, 1), at(70, 2)], part, gap, (p) => p.ready).map((r) => r[0]![0])).toEqual([0, 1])
  expect(strokes([], part, gap, (p) => p.ready)).toEqual([])
})
