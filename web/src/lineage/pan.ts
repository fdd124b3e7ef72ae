import type { Layout } from './layout'
import { paint } from './paint'
import { Raster } from './raster'
import type { Colours, View } from './talk'
import type { Tree } from './tree'

// A picture that only moves is mostly there already: it is moved, and only what comes into view is drawn. Of 50,000 URLs
// that is a small part of the work, whatever their number.

const edge = 12 // pixels around a part that are drawn and not used: marks and lines end differently at an edge

/** slide moves a picture by whole pixels. What comes into view keeps what was there. */
export function slide(r: Raster, dx: number, dy: number) {
  const { px, width, height } = r
  const [to, from] = [Math.max(0, dx), Math.max(0, -dx)]
  const row = (y: number) => px.copyWithin((y + dy) * width + to, y * width + from, (y + 1) * width - to)
  if (dy > 0) for (let y = height - 1 - dy; y >= 0; y--) row(y)
  else if (dy < 0) for (let y = -dy; y < height; y++) row(y)
  else for (let y = 0; y < height; y++) row(y)
}

/** Panned draws a tree into a picture again and again. What it was given last must be the same, but for the view. */
export class Panned {
  readonly to: Raster
  private last: View | undefined // undefined = nothing that can be used
  private scale = 0 // of it: a browser's zoom changes it, and not the size of the picture
  private quick = false
  private parts = new Map<string, Raster>()

  constructor(width: number, height: number) {
    this.to = new Raster(width, height)
  }

  /** forget has the next picture drawn anew: the tree, the filter or the colours have changed. */
  forget() {
    this.last = undefined
  }

  /**
   * paint draws a view as paint does. whole draws all of it; else what only moves may lie up to half a pixel beside its
   * place, and stays as quick as it was.
   */
  paint(
    tree: Tree,
    at: Layout,
    view: View,
    scale: number,
    c: Colours,
    lit: Uint8Array | undefined,
    quick: boolean,
    whole: boolean,
  ) {
    const { width, height } = this.to
    const was = this.last
    const dx = was ? Math.round((view.x - was.x) * scale) : 0
    const dy = was ? Math.round((view.y - was.y) * scale) : 0
    const far = Math.abs(dx) > width / 2 || Math.abs(dy) > height / 2
    if (whole || !was || was.k !== view.k || this.scale !== scale || far) {
      paint(this.to, tree, at, view, scale, c, lit, quick)
      this.last = { ...view }
      this.scale = scale
      this.quick = quick
      return
    }
    const now = { k: view.k, x: was.x + dx / scale, y: was.y + dy / scale }
    slide(this.to, dx, dy)
    const part = (left: number, top: number, w: number, h: number) => {
      if (w === 0 || h === 0) return
      const key = `${w} ${h}`
      if (this.parts.size > 40) this.parts.clear()
      let p = this.parts.get(key)
      if (!p) this.parts.set(key, (p = new Raster(w + 2 * edge, h + 2 * edge)))
      const shifted = { k: now.k, x: now.x + (edge - left) / scale, y: now.y + (edge - top) / scale }
      paint(p, tree, at, shifted, scale, c, lit, this.quick)
      for (let y = 0; y < h; y++) {
        const from = (y + edge) * p.width + edge
        this.to.px.set(p.px.subarray(from, from + w), (top + y) * width + left)
      }
    }
    part(dx > 0 ? 0 : width + dx, 0, Math.abs(dx), height)
    part(Math.max(0, dx), dy > 0 ? 0 : height + dy, width - Math.abs(dx), Math.abs(dy))
    this.last = now
  }
}
