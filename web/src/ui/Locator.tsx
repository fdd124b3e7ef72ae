import { around, middle, outline, path, projection, type Box, type Point, type Polygons } from './geo'

interface District {
  key: string
  name: string
  label: string
  polygons?: number[][][][]
}

const [width, height] = [260, 246]
const [insetWidth, insetHeight] = [92, 76]

/** frame is the part of the map around a place: its district with what surrounds it, at least some streets wide. */
export function frame(district: Polygons | undefined, at: Point | undefined): Box | undefined {
  const box = around([...(district ? outline(district) : []), ...(at ? [at] : [])])
  if (!box) return undefined
  const [w, h] = [Math.max(box[2] - box[0], 0.012) * 0.75, Math.max(box[3] - box[1], 0.009) * 0.75]
  return [box[0] - w, box[1] - h, box[2] + w, box[3] + h]
}

/** Locator shows where an address is: its district among its neighbours, and both on the island. It asks no other host. */
export function Locator(p: { districts: District[]; district: string | undefined; at: Point | undefined }) {
  const own = p.districts.find((d) => d.key === p.district)
  const box = frame(own?.polygons, p.at)
  const whole = around(p.districts.flatMap((d) => outline(d.polygons ?? [])))
  if (!box || !whole) return null
  const to = projection(box, width, height)
  const small = projection(whole, insetWidth - 6, insetHeight - 6)
  const inside = ([x, y]: Point) => x > 4 && x < width - 4 && y > 4 && y < height - 4
  const near = p.districts.filter((d) => {
    const b = around(outline(d.polygons ?? []))
    return b && b[0] < box[2] && b[2] > box[0] && b[1] < box[3] && b[3] > box[1]
  })
  // Names of neighbours are drawn where they do not cover another, nor the inset.
  const taken: [number, number, number, number][] = [[0, 0, insetWidth + 6, insetHeight + 6]]
  const names: { key: string; name: string; at: Point }[] = []
  for (const d of [...(own ? [own] : []), ...near.filter((d) => d !== own)]) {
    const where = middle((d.polygons ?? []) as Polygons)
    if (!where) continue
    const [x, middleY] = to(where)
    const y = middleY + (d === own && p.at ? 20 : 0) // below the spot
    const half = d.name.length * 3.1 + 3
    const r = [x - half, y - 8, x + half, y + 8] as const
    const free = taken.every((t) => r[0] > t[2] || r[2] < t[0] || r[1] > t[3] || r[3] < t[1])
    if (!inside([x, y]) || r[0] < 2 || r[2] > width - 2 || (!free && d !== own)) continue
    taken.push([...r])
    names.push({ key: d.key, name: d.name, at: [x, y] })
  }
  const spot = p.at && to(p.at)
  const [a, b] = [small([box[0], box[3]]), small([box[2], box[1]])]
  return (
    <svg className="locator" viewBox={`0 0 ${width} ${height}`} width="100%" role="img" aria-label={own?.label ?? ''}>
      {near.map((d) => (
        <path key={d.key} className={d === own ? 'own' : ''} d={path((d.polygons ?? []) as Polygons, to)} />
      ))}
      {own && <path className="own line" d={path((own.polygons ?? []) as Polygons, to)} />}
      {names.map((n) => (
        <text key={n.key} x={n.at[0]} y={n.at[1]} textAnchor="middle">
          {n.name}
        </text>
      ))}
      {spot && (
        <>
          <circle className="halo" cx={spot[0]} cy={spot[1]} r="11" />
          <circle className="spot" cx={spot[0]} cy={spot[1]} r="4" />
        </>
      )}
      <g transform="translate(4 4)">
        <rect className="inset" width={insetWidth} height={insetHeight} rx="2" />
        <g transform="translate(3 3)">
          {p.districts.map((d) => (
            <path key={d.key} className="isle" d={path((d.polygons ?? []) as Polygons, small)} />
          ))}
          <rect
            className="here"
            x={Math.min(a[0], b[0])}
            y={Math.min(a[1], b[1])}
            width={Math.max(Math.abs(b[0] - a[0]), 6)}
            height={Math.max(Math.abs(b[1] - a[1]), 6)}
          />
        </g>
      </g>
    </svg>
  )
}
