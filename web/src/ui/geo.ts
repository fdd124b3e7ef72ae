// Places on a map, in degrees WGS 84, longitude first as in GeoJSON.

export type Point = [number, number]
export type Box = [west: number, south: number, east: number, north: number]
export type Polygons = number[][][][] // as a MultiPolygon: polygons of rings of points, the outer ring first

/** parseBox reads "west,south,east,north", as a filter has it; undefined for anything else. */
export function parseBox(s: string | undefined): Box | undefined {
  const v = (s ?? '').split(',').map((n) => (n.trim() === '' ? NaN : Number(n)))
  if (v.length !== 4 || v.some((n) => !Number.isFinite(n)) || v[0]! > v[2]! || v[1]! > v[3]!) return undefined
  return v as unknown as Box
}

/** writeBox is the filter for a box, to about a metre, and never beyond the poles or the date line. */
export const writeBox = ([w, s, e, n]: Box) =>
  [Math.max(w, -180), Math.max(s, -90), Math.min(e, 180), Math.min(n, 90)].map((v) => Number(v.toFixed(5))).join(',')

/** cross is what two boxes have in common; undefined when that is nothing. */
export function cross(a: Box, b: Box): Box | undefined {
  const c: Box = [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])]
  return c[0] < c[2] && c[1] < c[3] ? c : undefined
}

/** around is the smallest box with all points; undefined without points. */
export function around(points: Iterable<number[]>): Box | undefined {
  let box: Box | undefined
  for (const [x, y] of points as Iterable<Point>) {
    box = box ? [Math.min(box[0], x), Math.min(box[1], y), Math.max(box[2], x), Math.max(box[3], y)] : [x, y, x, y]
  }
  return box
}

/** outline is every point of the outer rings. */
export const outline = (polygons: Polygons) => polygons.flatMap((rings) => rings[0] ?? [])

/** middle is a point for the name of a district: the centroid of its largest ring. */
export function middle(polygons: Polygons): Point | undefined {
  let best: Point | undefined
  let most = 0
  for (const [ring] of polygons) {
    let [area, x, y] = [0, 0, 0]
    for (let i = 0; ring && i < ring.length; i++) {
      const [ax, ay] = ring[i] as Point
      const [bx, by] = ring[(i + 1) % ring.length] as Point
      const part = ax * by - bx * ay
      area += part
      x += (ax + bx) * part
      y += (ay + by) * part
    }
    if (Math.abs(area) > most) {
      most = Math.abs(area)
      best = [x / (3 * area), y / (3 * area)]
    }
  }
  return best
}

const mercator = (lat: number) => (Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) * 180) / Math.PI

/**
 * projection draws a box into a window of width by height pixels, as large as fits, in its middle: angles are right, as on
 * the map.
 */
export function projection(box: Box, width: number, height: number) {
  const [bottom, top] = [mercator(box[1]), mercator(box[3])]
  const scale = Math.min(width / Math.max(box[2] - box[0], 1e-6), height / Math.max(top - bottom, 1e-6))
  const [x0, y0] = [(box[0] + box[2]) / 2, (bottom + top) / 2]
  return ([lon, lat]: number[]): Point => [width / 2 + (lon! - x0) * scale, height / 2 - (mercator(lat!) - y0) * scale]
}

/** path is the d of an SVG path for polygons. */
export const path = (polygons: Polygons, at: (p: number[]) => Point) =>
  polygons
    .flatMap((rings) => rings)
    .map(
      (ring) =>
        'M' +
        ring
          .map(at)
          .map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`)
          .join('L') +
        'Z',
    )
    .join('')

/** steps are the limits between n classes of values that have about as many values each; fewer for few values. */
export function steps(values: number[], n: number): number[] {
  const sorted = [...values].sort((a, b) => a - b)
  const limits: number[] = []
  for (let i = 1; i < n; i++) {
    const v = sorted[Math.floor((i * sorted.length) / n)]
    if (v !== undefined && v > (limits.at(-1) ?? sorted[0]!)) limits.push(v)
  }
  return limits
}

/** classOf is the class of a value: 0 is below the first limit. */
export const classOf = (value: number, limits: number[]) => limits.filter((l) => value >= l).length
