import { spacing, type Layout } from './layout'
import { mark, mix, type Raster, type Shape } from './raster'
import type { Tree } from './tree'
import type { Colours, View } from './talk'

// How each state looks, in the order of their codes. Its shape says it without its colour, too.
const looks: { shape: Shape; colour: keyof Colours; size: number }[] = [
  { shape: 'ring', colour: 'wait', size: 0.95 }, // QUEUED
  { shape: 'dot', colour: 'busy', size: 1.7 }, // IN_PROGRESS
  { shape: 'dot', colour: 'done', size: 1 }, // VISITED
  { shape: 'diamond', colour: 'moved', size: 1.7 }, // REDIRECT_301
  { shape: 'frame', colour: 'failed', size: 1.35 }, // FORBIDDEN
  { shape: 'square', colour: 'failed', size: 1.35 }, // NOT_FOUND
  { shape: 'frame', colour: 'failed', size: 1.35 }, // HTTP_TERMINAL
  { shape: 'frame', colour: 'failed', size: 1.35 }, // FAILED
  { shape: 'dot', colour: 'skipped', size: 0.9 }, // SKIPPED
]

const dimmed = 46 // of 255: what is left of a colour that a filter leaves out

/**
 * paint draws a tree. scale is pixels a CSS pixel; lit says which URLs a filter has left, all without it. quick leaves
 * out the lines to pages without children, which are most of the work.
 */
export function paint(
  to: Raster,
  tree: Tree,
  at: Layout,
  view: View,
  scale: number,
  c: Colours,
  lit?: Uint8Array,
  quick?: boolean,
) {
  const k = view.k * scale
  const ox = view.x * scale
  const oy = view.y * scale
  const { n, x, y, disc, kids, state } = tree
  to.clear(c.paper)
  const faint = lit ? 40 : 150
  const lines = !quick && view.k * spacing > 1.2 // else dots cover the lines to them
  for (let i = 1; lines && i < n; i++) {
    const d = disc[i]!
    if (d < 0) continue
    const px = x[i]! * k + ox
    const py = y[i]! * k + oy
    const qx = at.x[d]! * k + ox
    const qy = at.y[d]! * k + oy
    if (
      (px < 0 && qx < 0) ||
      (py < 0 && qy < 0) ||
      (px > to.width && qx > to.width) ||
      (py > to.height && qy > to.height)
    )
      continue
    to.line(qx, qy, px, py, c.rule, faint)
  }
  for (let d = 0; d < at.x.length; d++) {
    const from = at.from[d]!
    if (from < 0) continue
    const ax = x[from]! * k + ox
    const ay = y[from]! * k + oy
    const bx = at.x[d]! * k + ox
    const by = at.y[d]! * k + oy
    to.line(ax, ay, bx, by, c.wait, lit ? 90 : 230)
    if (scale > 1.4) to.line(ax + 0.6, ay + 0.6, bx + 0.6, by + 0.6, c.wait, lit ? 60 : 150)
  }
  const r = Math.min(9, Math.max(1.3, 1.75 * view.k)) * scale
  const full = looks.map((l) => c[l.colour])
  const dim = full.map((colour) => mix(colour, c.paper, dimmed))
  const shapes = looks.map((l) => mark(l.shape, r * l.size, scale))
  for (let i = 1; i < n; i++) {
    if (kids[i]! > 0 || disc[i]! < 0) continue
    const s = state[i]!
    to.draw(shapes[s]!, x[i]! * k + ox, y[i]! * k + oy, lit && !lit[i] ? dim[s]! : full[s]!)
  }
  const widest = Math.max(1.25 * r, 6 * scale) + 1.3 * scale + 3 // pixels from its middle that a page is drawn, at most
  // Pages go over what lies on their discs, the seed over all, each with a margin.
  for (let i = n - 1; i >= 0; i--) {
    if ((kids[i] === 0 && i > 0) || disc[i]! < 0) continue
    const px = x[i]! * k + ox
    const py = y[i]! * k + oy
    if (!(px > -widest && py > -widest && px < to.width + widest && py < to.height + widest)) continue
    const s = state[i]!
    const shape = i === 0 ? 'dot' : looks[s]!.shape
    // A page is larger than what lies around it, and leaves that to be seen.
    const most = Math.max(1.5, 0.4 * at.r[disc[i]!]! * view.k)
    const size = i === 0 ? 6 * scale : Math.max(1.25 * r, Math.min(most, 5.2, 2.2 + Math.sqrt(kids[i]!) * 0.22) * scale)
    const colour = i === 0 ? c.ink : full[s]!
    to.draw(mark(margin[shape], size + Math.min(1.3, most / 3) * scale), px, py, c.paper)
    to.draw(mark(shape, size, 1.4 * scale), px, py, lit && !lit[i] ? mix(colour, c.paper, dimmed) : colour)
  }
}

const margin: Record<Shape, Shape> = { dot: 'dot', ring: 'dot', square: 'square', frame: 'square', diamond: 'dot' }
