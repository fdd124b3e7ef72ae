import type { Label, Point, View } from './talk'

/** What lies over the drawing: names, the way to the chosen URL, and what the pointer is at. */
export interface Over {
  labels: Label[]
  way: Point[]
  links: Point[]
  under?: Point
  seed: string // the label of the seed
}

export interface Ink {
  ink: string
  paper: string
  failed: string
  blue: string
  mono: string // family
}

const broken = new Set([4, 5, 6, 7]) // indexes of states

/** over draws it on a canvas of width × height CSS pixels, of scale pixels each. */
export function over(canvas: HTMLCanvasElement, o: Over, view: View, scale: number, c: Ink) {
  const g = canvas.getContext('2d')
  if (!g) return
  g.setTransform(scale, 0, 0, scale, 0, 0)
  g.clearRect(0, 0, canvas.width, canvas.height)
  const at = (p: { x: number; y: number }) => [p.x * view.k + view.x, p.y * view.k + view.y] as const
  const chosen = o.way.at(-1)
  g.lineJoin = 'round'

  if (chosen) {
    g.strokeStyle = c.blue
    g.lineWidth = 1
    g.beginPath()
    for (const l of o.links) {
      g.moveTo(...at(chosen))
      g.lineTo(...at(l))
    }
    g.stroke()
    for (const l of o.links) ring(g, at(l), 3.4, c.paper, c.blue, 1.4)
    g.strokeStyle = c.ink
    g.lineWidth = 2.4
    g.beginPath()
    o.way.forEach((p, i) => (i === 0 ? g.moveTo(...at(p)) : g.lineTo(...at(p))))
    g.stroke()
    for (const p of o.way.slice(0, -1)) ring(g, at(p), 4.6, c.paper, c.ink, 2)
    const [x, y] = at(chosen)
    if (broken.has(chosen.state)) {
      g.fillStyle = c.failed
      g.fillRect(x - 4.5, y - 4.5, 9, 9)
      g.strokeStyle = c.ink
      g.lineWidth = 1.5
      g.strokeRect(x - 6, y - 6, 12, 12)
    } else ring(g, [x, y], 5.2, c.ink, c.paper, 1.6)
  }

  g.font = `500 11px ${c.mono}`
  const name = (text: string, x: number, y: number, align: CanvasTextAlign) => {
    g.textAlign = align
    g.strokeStyle = c.paper
    g.lineWidth = 3.5
    g.strokeText(text, x, y)
    g.fillStyle = c.ink
    g.fillText(text, x, y)
  }
  for (const l of o.labels) {
    const [x, y] = at(l)
    name(l.text || o.seed, x, y - l.r * view.k - 5, 'center')
  }
  for (const p of [chosen, o.under]) {
    if (!p) continue
    const [x, y] = at(p)
    if (p === o.under) ring(g, [x, y], 6, undefined, c.ink, 1.5)
    const right = x > canvas.width / scale - 200
    name(p.text, right ? x - 11 : x + 11, y + 4, right ? 'right' : 'left')
  }
}

function ring(
  g: CanvasRenderingContext2D,
  [x, y]: readonly [number, number],
  r: number,
  fill: string | undefined,
  line: string,
  width: number,
) {
  g.beginPath()
  g.arc(x, y, r, 0, 7)
  if (fill) {
    g.fillStyle = fill
    g.fill()
  }
  g.lineWidth = width
  g.strokeStyle = line
  g.stroke()
}
