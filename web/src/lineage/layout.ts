import type { Tree } from './tree'

// A balloon layout: the URLs of a page that lead no further lie around it as the seeds of a sunflower, on a disc. Pages
// that lead further have discs of their own, around that of their parent. Lengths are in units of the drawing.

export const spacing = 4.6 // between URLs on a disc
const gap = 9 // between discs
const golden = 2.399963 // radians: the angle between two seeds of a sunflower

/** radiusOf is the radius of a disc for so many URLs around its page, with room for their dots. */
const radiusOf = (urls: number) => spacing * 1.05 * Math.sqrt(urls + 1) + 4

/** Discs are the middles and radii of discs, by their index. */
interface Discs {
  x: number[]
  y: number[]
  r: number[]
}

/**
 * Space finds what lies near a place, by cells of a grid. Its loops take no functions: a layout asks it a million times.
 */
class Space {
  private heads: Int32Array
  private disc: number[] = []
  private next: number[] = []

  private cell: number

  constructor(cell: number, discs: number) {
    this.cell = cell
    this.heads = new Int32Array(1 << Math.ceil(Math.log2(4 * discs + 64))).fill(-1)
  }

  private bucket(cx: number, cy: number) {
    return (Math.imul(cx, 73856093) ^ Math.imul(cy, 19349663)) & (this.heads.length - 1)
  }

  add(disc: number, x: number, y: number, r: number) {
    const { cell, heads } = this
    const right = Math.floor((x + r) / cell)
    const bottom = Math.floor((y + r) / cell)
    for (let cy = Math.floor((y - r) / cell); cy <= bottom; cy++)
      for (let cx = Math.floor((x - r) / cell); cx <= right; cx++) {
        const b = this.bucket(cx, cy)
        this.next.push(heads[b]!)
        heads[b] = this.disc.push(disc) - 1
      }
  }

  /** near puts the discs that may lie within a square into a list, some more than once, and returns how many. */
  near(x: number, y: number, r: number, list: number[]) {
    const { cell, heads, disc, next } = this
    const right = Math.floor((x + r) / cell)
    const bottom = Math.floor((y + r) / cell)
    let n = 0
    for (let cy = Math.floor((y - r) / cell); cy <= bottom; cy++)
      for (let cx = Math.floor((x - r) / cell); cx <= right; cx++)
        for (let e = heads[this.bucket(cx, cy)]!; e >= 0; e = next[e]!) list[n++] = disc[e]!
    return n
  }

  /** taken reports whether a disc overlaps one that was added. */
  taken({ x, y, r }: Discs, d: number) {
    const { cell, heads, disc, next } = this
    const own = r[d]! + gap
    const right = Math.floor((x[d]! + own) / cell)
    const bottom = Math.floor((y[d]! + own) / cell)
    for (let cy = Math.floor((y[d]! - own) / cell); cy <= bottom; cy++)
      for (let cx = Math.floor((x[d]! - own) / cell); cx <= right; cx++)
        for (let e = heads[this.bucket(cx, cy)]!; e >= 0; e = next[e]!) {
          const j = disc[e]!
          const dx = x[j]! - x[d]!
          const dy = y[j]! - y[d]!
          const least = r[d]! + r[j]! + gap / 3
          if (dx * dx + dy * dy < least * least) return true
        }
    return false
  }
}

/** Layout gives each URL of a tree its place. What has a place keeps it. */
export class Layout {
  // Of each disc: its middle, its radius, the URLs on it and how many fit, and the URL that a line leads to it from.
  x: number[] = []
  y: number[] = []
  r: number[] = []
  count: number[] = []
  room: number[] = []
  from: number[] = []

  private space = new Space(1, 0)
  private open = new Map<number, number>() // the disc that has room for more URLs of a page, by its index

  private tree: Tree
  constructor(tree: Tree) {
    this.tree = tree
  }

  /** arrange places all URLs of a tree that has none placed, in O(n). */
  arrange() {
    const { n, parent, kids } = this.tree
    if (n === 0) return
    const leaves = new Int32Array(n)
    for (let i = 1; i < n; i++) if (kids[i] === 0) leaves[parent[i]!]!++
    const disc = new Int32Array(n).fill(-1) // of each page that has children, and of the seed
    const pages: number[] = []
    for (let i = 0; i < n; i++)
      if (kids[i]! > 0 || i === 0) {
        disc[i] = this.make(leaves[i]!, i === 0 ? -1 : parent[i]!)
        pages.push(i)
      }
    this.around(pages, disc)
    this.push()
    this.settle()
    for (const i of pages) {
      const d = disc[i]!
      this.tree.disc[i] = d
      this.tree.x[i] = this.x[d]!
      this.tree.y[i] = this.y[d]!
      this.open.set(i, d)
    }
    for (let i = 1; i < n; i++) if (kids[i] === 0) this.seat(i, disc[parent[i]!]!)
  }

  /** grow places what has come since, and moves nothing. A page that had no children gets a disc near its dot. */
  grow() {
    const { n, parent } = this.tree
    if (this.x.length === 0) return this.arrange()
    let first = n // new URLs are the last ones
    while (first > 0 && this.tree.disc[first - 1]! < 0) first--
    const news = new Map<number, number>() // new children of a page
    for (let i = first; i < n; i++) news.set(parent[i]!, (news.get(parent[i]!) ?? 0) + 1)
    for (let i = first; i < n; i++) {
      const p = parent[i]!
      let d = this.open.get(p)
      if (d === undefined || this.count[d]! >= this.room[d]!) {
        d = this.make(news.get(p)!, p)
        this.beside(d, p)
        this.open.set(p, d)
      }
      this.seat(i, d)
      news.set(p, news.get(p)! - 1)
    }
  }

  /** bounds is the box that holds all discs. */
  bounds() {
    const b = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
    for (let d = 0; d < this.x.length; d++) {
      b.left = Math.min(b.left, this.x[d]! - this.r[d]!)
      b.right = Math.max(b.right, this.x[d]! + this.r[d]!)
      b.top = Math.min(b.top, this.y[d]! - this.r[d]!)
      b.bottom = Math.max(b.bottom, this.y[d]! + this.r[d]!)
    }
    return b
  }

  private make(urls: number, from: number) {
    const room = urls + Math.max(3, urls >> 3)
    this.x.push(0)
    this.y.push(0)
    this.r.push(radiusOf(room))
    this.count.push(0)
    this.room.push(room)
    this.from.push(from)
    return this.x.length - 1
  }

  /** seat puts a URL on the next place of a disc. */
  private seat(i: number, d: number) {
    const j = this.count[d]!++
    const [r, a] = [spacing * 1.02 * Math.sqrt(j + 1.6), j * golden]
    this.tree.disc[i] = d
    this.tree.x[i] = this.x[d]! + Math.cos(a) * r
    this.tree.y[i] = this.y[d]! + Math.sin(a) * r
  }

  /** around gives each disc a place around that of its parent, as if what lies below each were a disc, too. */
  private around(pages: number[], disc: Int32Array) {
    const { parent, n } = this.tree
    const area = new Float64Array(this.x.length)
    for (let at = pages.length - 1; at >= 0; at--) {
      const i = pages[at]!
      area[disc[i]!]! += (this.r[disc[i]!]! + gap / 2) ** 2
      if (i > 0) area[disc[parent[i]!]!]! += area[disc[i]!]!
    }
    const wide = (i: number) => 1.12 * Math.sqrt(area[disc[i]!]!) // the radius of a page with all below it
    const below = new Map<number, number[]>()
    for (const i of pages) {
      if (i === 0) continue
      const list = below.get(parent[i]!)
      if (list) list.push(i)
      else below.set(parent[i]!, [i])
    }
    const angle = new Float64Array(n)
    angle[0] = -0.5
    for (const i of pages) {
      const list = below.get(i)
      if (!list) continue
      list.sort((a, b) => area[disc[b]!]! - area[disc[a]!]! || a - b)
      const d = disc[i]!
      const span = i === 0 ? 2 * Math.PI : 1.5 * Math.PI
      const sum = list.reduce((s, k) => s + wide(k) + gap / 2, 0)
      const ring = (2 * sum) / span
      const put = (k: number, far: number, a: number) => {
        this.x[disc[k]!] = this.x[d]! + Math.cos(a) * far * (i === 0 ? 1.3 : 1.1)
        this.y[disc[k]!] = this.y[d]! + Math.sin(a) * far * (i === 0 ? 0.86 : 0.96)
        angle[k] = a
      }
      if (ring <= 1.6 * Math.sqrt(area[d]!) || list.length < 5) {
        let a = angle[i]! - span / 2
        for (const k of mixed(list)) {
          const part = (span * (wide(k) + gap / 2)) / sum
          const near = this.r[d]! + this.r[disc[k]!]! + gap
          const room = Math.max(0.62 * ring + 0.35 * wide(k), this.r[d]! + 0.7 * wide(k) + gap)
          put(k, list.length === 1 ? near : Math.max(near, room), a + part / 2) // a long chain stays short
          a += part
        }
        continue
      }
      // Too many for one ring: the small ones inside, those with much below them outside.
      let filled = (this.r[d]! + gap) ** 2
      list.reverse().forEach((k, j) => {
        const own = (wide(k) + gap / 2) ** 2
        const turn = (j * golden) % (2 * Math.PI)
        put(k, Math.sqrt(filled + own), angle[i]! - span / 2 + (turn / (2 * Math.PI)) * span)
        filled += own * 1.2
      })
    }
  }

  /** push moves discs apart that overlap, the larger ones less and the seed's not at all. */
  private push() {
    const { x, y, r } = this
    const n = x.length
    const list: number[] = []
    const cell = (3 * r.reduce((a, b) => a + b, 0)) / n
    for (let pass = Math.max(3, Math.min(12, Math.floor(30_000 / n))); pass > 0; pass--) {
      const space = new Space(cell, n)
      for (let i = 0; i < n; i++) space.add(i, x[i]!, y[i]!, r[i]! + gap)
      let moved = false
      for (let i = 0; i < n; i++) {
        const found = space.near(x[i]!, y[i]!, r[i]!, list)
        for (let f = 0; f < found; f++) {
          const j = list[f]!
          if (j <= i) continue
          let dx = x[j]! - x[i]!
          let dy = y[j]! - y[i]!
          const least = r[i]! + r[j]! + gap
          if (dx * dx + dy * dy >= least * least) continue
          if (dx === 0 && dy === 0) {
            dx = Math.cos(j * golden) * 0.01
            dy = Math.sin(j * golden) * 0.01
          }
          const d = Math.sqrt(dx * dx + dy * dy)
          const by = (least - d) / d
          const mine = i === 0 ? 0 : r[j]! / (r[i]! + r[j]!)
          x[i]! -= dx * by * mine
          y[i]! -= dy * by * mine
          x[j]! += dx * by * (1 - mine)
          y[j]! += dy * by * (1 - mine)
          moved = true
        }
      }
      if (!moved) return
    }
  }

  /** settle moves those that still overlap to the nearest free place, so that none do. */
  private settle() {
    const n = this.x.length
    this.space = new Space((3 * this.r.reduce((a, b) => a + b, 0)) / n, n)
    const order = Array.from({ length: n }, (_, i) => i).sort(
      (a, b) => Number(b === 0) - Number(a === 0) || this.r[b]! - this.r[a]! || a - b,
    )
    for (const i of order) this.place(i, this.x[i]!, this.y[i]!, i * golden)
  }

  /** beside places a disc of URLs near the page that led to them, on the side that is away from the disc it lies on. */
  private beside(d: number, page: number) {
    const home = this.tree.disc[page]!
    const [px, py] = [this.tree.x[page]!, this.tree.y[page]!]
    let [dx, dy] = [px - this.x[home]!, py - this.y[home]!]
    if (dx === 0 && dy === 0) [dx, dy] = [Math.cos(d * golden), Math.sin(d * golden)]
    const far = (this.r[home]! + this.r[d]! + gap) / Math.hypot(dx, dy)
    this.place(d, this.x[home]! + dx * far, this.y[home]! + dy * far, Math.atan2(dy, dx))
  }

  /** place puts a disc where it is free, as near to a place as a spiral of growing steps finds it. */
  private place(d: number, x: number, y: number, angle: number) {
    const r = this.r[d]!
    let step = r / 2 + 2
    for (let k = 0; ; k++) {
      const far = step * Math.sqrt(k)
      this.x[d] = x + Math.cos(angle + k * golden) * far
      this.y[d] = y + Math.sin(angle + k * golden) * far
      if (!this.space.taken(this, d)) break
      if (k % 64 === 63) step *= 1.25 // a crowd of any size is left behind soon
    }
    this.space.add(d, this.x[d]!, this.y[d]!, r)
  }
}

/** mixed puts the large ones of a list, which begins with the largest, between the small ones. */
function mixed(list: number[]) {
  const out: number[] = []
  const half = Math.ceil(list.length / 2)
  for (let j = 0; j < half; j++) {
    out.push(list[j]!)
    if (list.length - 1 - j !== j) out.push(list[list.length - 1 - j]!)
  }
  return out
}
