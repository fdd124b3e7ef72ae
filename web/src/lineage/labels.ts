import type { Layout } from './layout'
import type { Label, View } from './talk'
import type { Tree } from './tree'

const most = 40
const letter = 6.7 // CSS pixels, of the font of labels
const longest = 28 // letters

/** tail is the end of a path for a person: its last part, without what would change how a line reads, and cut. */
export function tail(path: string) {
  const [way = '', query] = path.slice(0, 2000).split('?', 2)
  const parts = way.split('/').filter(Boolean)
  const last = (parts.at(-1) ?? '') + (way.endsWith('/') ? '/' : '')
  const text = (last || '/') + (query ? `?${query}` : '')
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, '')
  return clean.length > longest ? clean.slice(0, longest - 1) + '…' : clean
}

/** labels names the pages with the most below them: at most 40 that lie in the view, none over another. */
export function labels(tree: Tree, at: Layout, view: View, width: number, height: number): Label[] {
  const size = tree.sizes()
  const pages: number[] = []
  for (let i = 0; i < tree.n; i++) if ((tree.kids[i]! > 0 || i === 0) && tree.disc[i]! >= 0) pages.push(i)
  pages.sort((a, b) => size[b]! - size[a]!)
  const out: Label[] = []
  const taken: { left: number; right: number; y: number }[] = []
  for (const i of pages) {
    if (out.length === most) break
    const d = tree.disc[i]!
    const own = at.x[d] === tree.x[i] && at.y[d] === tree.y[i] // else it has stayed a dot on the disc of its parent
    const r = own ? at.r[d]! : 5
    const [x, y] = [tree.x[i]! * view.k + view.x, (tree.y[i]! - r) * view.k + view.y - 5]
    if (x < 0 || y < 12 || x > width || y > height || (i > 0 && out.length > 8 && r * view.k < 12)) continue
    const text = i === 0 ? '' : tail(tree.paths[i]!)
    const half = (Math.max(4, text.length) * letter) / 2 + 4
    if (taken.some((t) => x - half < t.right && x + half > t.left && Math.abs(t.y - y) < 15)) continue
    taken.push({ left: x - half, right: x + half, y })
    out.push({ x: tree.x[i]!, y: tree.y[i]!, r, text })
  }
  return out
}
