import type { Tree } from './tree'

// What lies where. All URLs are looked at: 50,000 take a tenth of a millisecond.

/** nearest is the index of the URL next to a place, within a distance; -1 = none. Pages go before what lies on them. */
export function nearest(t: Tree, x: number, y: number, within: number) {
  let [found, least] = [-1, within * within]
  for (let i = 0; i < t.n; i++) {
    if (t.disc[i]! < 0) continue
    const [dx, dy] = [t.x[i]! - x, t.y[i]! - y]
    const d = (dx * dx + dy * dy) * (t.kids[i]! > 0 ? 0.5 : 1)
    if (d < least) [found, least] = [i, d]
  }
  return found
}

/** toward is the index of the URL next to one in a direction (1, 0 is right; 0, 1 is down); -1 = none lies there. */
export function toward(t: Tree, from: number, right: number, down: number) {
  let [found, least] = [-1, Infinity]
  for (let i = 0; i < t.n; i++) {
    if (i === from || t.disc[i]! < 0) continue
    const [dx, dy] = [t.x[i]! - t.x[from]!, t.y[i]! - t.y[from]!]
    const ahead = dx * right + dy * down
    const aside = Math.abs(dx * down - dy * right)
    if (ahead <= 0 || aside > ahead) continue
    const d = ahead + 2 * aside
    if (d < least) [found, least] = [i, d]
  }
  return found
}

/** into is the first URL below one, pages that lead further before others; -1 = none. */
export function into(t: Tree, i: number) {
  let first = -1
  for (let j = i + 1; j < t.n; j++) {
    if (t.parent[j] !== i) continue
    if (t.kids[j]! > 0) return j
    if (first < 0) first = j
  }
  return first
}

/** wayTo is the indexes from the seed to a URL, both included. */
export function wayTo(t: Tree, i: number) {
  const way: number[] = []
  for (let at = i; at >= 0; at = t.parent[at]!) way.push(at)
  return way.reverse()
}
