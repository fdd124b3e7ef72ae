// A rasteriser of lines and dots with smooth edges: 50,000 of each are drawn in some milliseconds, where the browser's
// own canvas needs a graphics card for that. Colours are 0xAABBGGRR, as ImageData has them on little-endian machines.

/** rgb makes a colour. */
export const rgb = (r: number, g: number, b: number) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0

/** mix is a share of one colour, a whole number from 0 to 255, over another. */
export function mix(over: number, under: number, share: number) {
  const [rb, g] = [under & 0xff00ff, under & 0xff00]
  const mixedRB = (rb + ((((over & 0xff00ff) - rb) * share) >> 8)) & 0xff00ff
  const mixedG = (g + ((((over & 0xff00) - g) * share) >> 8)) & 0xff00
  return (0xff000000 | mixedRB | mixedG) >>> 0
}

const shapes = ['dot', 'ring', 'square', 'frame', 'diamond'] as const
export type Shape = (typeof shapes)[number]

/** A Mark is a shape of one size at 4 × 4 sub-pixel places. Of each place it lists the pixels that it covers. */
interface Mark {
  reach: number // pixels from the middle, at most
  right: Int8Array[] // of the pixel that the middle lies in
  down: Int8Array[]
  cover: Uint8Array[] // of each pixel, from 1 to 255
}

const marks = new Map<number, Mark>()

/** far is how far a point is inside of a shape of radius r; negative = outside. In pixels. */
function far(shape: Shape, x: number, y: number, r: number, line: number) {
  switch (shape) {
    case 'dot':
      return r - Math.hypot(x, y)
    case 'ring':
      return line / 2 - Math.abs(Math.hypot(x, y) - (r - line / 2))
    case 'square':
      return r - Math.max(Math.abs(x), Math.abs(y))
    case 'frame':
      return line / 2 - Math.abs(Math.max(Math.abs(x), Math.abs(y)) - (r - line / 2))
    case 'diamond':
      return (r - Math.abs(x) - Math.abs(y)) * Math.SQRT1_2
  }
}

/** mark returns a shape; radii are in quarters of a pixel, so there are few. line is the width of rings and frames. */
export function mark(shape: Shape, radius: number, line = 1): Mark {
  const quarters = Math.max(2, Math.round(radius * 4))
  // A number, not text: a picture asks for thousands of marks. A line counts in hundredths of a pixel.
  const key = shapes.indexOf(shape) + 8 * (quarters + 4096 * Math.round(line * 100))
  let m = marks.get(key)
  if (m) return m
  const r = quarters / 4
  const reach = Math.min(100, Math.ceil(r + 1))
  m = { reach: reach + 1, right: [], down: [], cover: [] }
  for (let place = 0; place < 16; place++) {
    const [ox, oy] = [(place & 3) / 4, (place >> 2) / 4]
    const covered: [number, number, number][] = []
    for (let y = -reach; y <= reach; y++)
      for (let x = -reach; x <= reach; x++) {
        const inside = far(shape, x + 0.5 - ox, y + 0.5 - oy, r, line) + 0.5
        const cover = Math.round(255 * Math.min(1, Math.max(0, inside)))
        if (cover > 0) covered.push([x, y, cover])
      }
    m.right.push(Int8Array.from(covered, (c) => c[0]))
    m.down.push(Int8Array.from(covered, (c) => c[1]))
    m.cover.push(Uint8Array.from(covered, (c) => c[2]))
  }
  marks.set(key, m)
  return m
}

/** Raster is a picture of width × height pixels. */
export class Raster {
  readonly px: Uint32Array<ArrayBuffer>
  readonly width: number
  readonly height: number

  constructor(width: number, height: number) {
    this.width = width
    this.height = height
    this.px = new Uint32Array(width * height)
  }

  clear(colour: number) {
    this.px.fill(colour)
  }

  // No lists are made below: this is done for each of 50,000 URLs.

  /** draw puts a mark at a place. */
  draw(m: Mark, x: number, y: number, colour: number) {
    const width = this.width
    const px = this.px
    if (!(x > -m.reach && y > -m.reach && x < width + m.reach && y < this.height + m.reach)) return
    const x4 = Math.floor(x * 4)
    const y4 = Math.floor(y * 4)
    const left = x4 >> 2
    const top = y4 >> 2
    const place = (x4 & 3) + 4 * (y4 & 3)
    const right = m.right[place]!
    const down = m.down[place]!
    const cover = m.cover[place]!
    const whole = left >= m.reach && top >= m.reach && left < width - m.reach && top < this.height - m.reach // not cut by an edge
    for (let i = 0; i < cover.length; i++) {
      const column = left + right[i]!
      const row = top + down[i]!
      if (!whole && (column < 0 || row < 0 || column >= width || row >= this.height)) continue
      const at = row * width + column
      const c = cover[i]!
      px[at] = c === 255 ? colour : mix(colour, px[at]!, c)
    }
  }

  /** line draws a line, one pixel wide, with a share of its colour from 0 to 255. */
  line(x0: number, y0: number, x1: number, y1: number, colour: number, share = 255) {
    const right = this.width - 2
    const bottom = this.height - 2
    if (!(x0 >= 1 && x1 >= 1 && y0 >= 1 && y1 >= 1 && x0 <= right && x1 <= right && y0 <= bottom && y1 <= bottom)) {
      const c = clip(x0, y0, x1, y1, right, bottom)
      if (!c) return
      x0 = c[0]
      y0 = c[1]
      x1 = c[2]
      y1 = c[3]
    }
    const px = this.px
    // Along the longer axis, each step covers two pixels across it, in parts.
    const steep = Math.abs(y1 - y0) > Math.abs(x1 - x0)
    const along = steep ? this.width : 1
    const across = steep ? 1 : this.width
    const back = steep ? y0 > y1 : x0 > x1
    const a0 = steep ? (back ? y1 : y0) : back ? x1 : x0
    const a1 = steep ? (back ? y0 : y1) : back ? x0 : x1
    const b0 = steep ? (back ? x1 : x0) : back ? y1 : y0
    const b1 = steep ? (back ? x0 : x1) : back ? y0 : y1
    const slope = a1 - a0 < 0.001 ? 0 : (b1 - b0) / (a1 - a0)
    const low = Math.max(0, Math.min(b0, b1) - 0.5)
    const high = Math.max(b0, b1) - 0.5
    const to = Math.floor(a1)
    let b = b0 + (Math.floor(a0) + 0.5 - a0) * slope - 0.5
    for (let a = Math.floor(a0); a <= to; a++, b += slope) {
      const at = Math.max(low, Math.min(high, b))
      const whole = at | 0
      const part = (share * (at - whole)) | 0
      const p = a * along + whole * across
      px[p] = mix(colour, px[p]!, share - part)
      px[p + across] = mix(colour, px[p + across]!, part)
    }
  }
}

/** clip cuts a line to a box from 1, 1 on; undefined = it is outside. */
function clip(x0: number, y0: number, x1: number, y1: number, right: number, bottom: number) {
  let [from, to] = [0, 1]
  const [dx, dy] = [x1 - x0, y1 - y0]
  for (const [p, q] of [
    [-dx, x0 - 1],
    [dx, right - x0],
    [-dy, y0 - 1],
    [dy, bottom - y0],
  ] as const) {
    if (p === 0) {
      if (!(q >= 0)) return undefined
    } else if (p < 0) from = Math.max(from, q / p)
    else to = Math.min(to, q / p)
  }
  if (!(from <= to)) return undefined
  return [x0 + from * dx, y0 + from * dy, x0 + to * dx, y0 + to * dy] as const
}
