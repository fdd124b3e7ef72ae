import type OLMap from 'ol/Map'
import { fromLonLat } from 'ol/proj'
import { useEffect, useState } from 'react'

import type { Schemas } from '../api/client'
import { around, middle, outline, type Box, type Polygons } from '../ui/geo'

type Cell = Schemas['ListingCell']

// Classes of median rents, the lowest first.
export const shades = [8, 20, 34, 50, 68].map((n) => `color-mix(in srgb, var(--verdg) ${n}%, transparent)`)

/** radius is that of the circle of a square that is wide pixels wide: circles cover little of their neighbours. */
const radius = (c: Cell, wide: number) =>
  c.count === 1 ? 5 : Math.min(9 + 3.2 * Math.log2(c.count), Math.max(wide * 0.48, 10))

/** pixels is how wide a square of the map is on the screen. */
function pixels(m: OLMap, degreesWide: number) {
  const [a, b] = [0, degreesWide].map((x) => m.getPixelFromCoordinate(fromLonLat([x - 73.6, 45.5])))
  return a && b ? b[0]! - a[0]! : 0
}

/** hit is the square under a pixel. */
export function hit(m: OLMap, cells: Cell[], width: number, pixel: number[]) {
  const wide = pixels(m, width)
  return cells.find((c) => {
    const at = m.getPixelFromCoordinate(fromLonLat([c.longitude, c.latitude]))
    return at && Math.hypot(at[0]! - pixel[0]!, at[1]! - pixel[1]!) <= Math.max(radius(c, wide), 10)
  })
}

interface Painted {
  shown: Cell[]
  width: number // of a square, degrees
  districts: Schemas['NeighbourhoodList'] | undefined
  colours: ReturnType<typeof resolve>
  chosen: Box | undefined
}

/** paint draws the names of districts, the squares and the chosen box above the map. */
export function paint(canvas: HTMLCanvasElement | null, m: OLMap, p: Painted) {
  const size = m.getSize()
  const g = canvas?.getContext('2d')
  if (!canvas || !g || !size) return
  const dense = devicePixelRatio || 1
  const [w, h] = size as [number, number]
  if (canvas.width !== Math.round(w * dense) || canvas.height !== Math.round(h * dense)) {
    canvas.width = Math.round(w * dense)
    canvas.height = Math.round(h * dense)
  }
  g.setTransform(dense, 0, 0, dense, 0, 0)
  g.clearRect(0, 0, w, h)
  const at = (lonLat: number[]) => m.getPixelFromCoordinate(fromLonLat(lonLat)) as [number, number] | null
  if (p.chosen) {
    const a = at([p.chosen[0], p.chosen[3]])
    const b = at([p.chosen[2], p.chosen[1]])
    if (a && b) {
      g.strokeStyle = p.colours.ink
      g.setLineDash([5, 4])
      g.strokeRect(a[0], a[1], b[0] - a[0], b[1] - a[1])
      g.setLineDash([])
    }
  }
  g.textAlign = 'center'
  g.textBaseline = 'middle'
  g.lineJoin = 'round'
  const taken: [number, number, number, number][] = []
  const free = (x: number, y: number, half: number, tall: number) => {
    if (taken.some((b) => x - half < b[2] && x + half > b[0] && y - tall < b[3] && y + tall > b[1])) return false
    taken.push([x - half, y - tall, x + half, y + tall])
    return true
  }
  const wide = pixels(m, p.width)
  for (const c of p.shown) {
    const xy = at([c.longitude, c.latitude])
    if (!xy) continue
    const r = radius(c, wide)
    free(xy[0], xy[1], r * 0.7, r * 0.7)
    g.beginPath()
    g.arc(xy[0], xy[1], r, 0, 2 * Math.PI)
    g.fillStyle = c.count === 1 ? p.colours.done : p.colours.ink
    g.fill()
    g.lineWidth = 1.5
    g.strokeStyle = p.colours.paper
    g.stroke()
    if (c.count > 1) {
      g.font = `600 ${r > 14 ? 12.5 : 11}px ${p.colours.sans}`
      g.fillStyle = p.colours.paper
      g.fillText(String(c.count), xy[0], xy[1] + 0.5)
    }
  }
  g.font = `italic 400 13px ${p.colours.serif}`
  g.lineWidth = 3
  for (const d of [...(p.districts?.items ?? [])].sort((a, b) => b.active - a.active)) {
    const polygons = (d.polygons ?? []) as Polygons
    const box = around(outline(polygons))
    const where = middle(polygons)
    const [a, b] = [box && at([box[0], box[1]]), box && at([box[2], box[3]])]
    const xy = where && at(where)
    if (!xy || !a || !b || xy[0] < 0 || xy[1] < 0 || xy[0] > w || xy[1] > h) continue
    const half = g.measureText(d.name).width / 2
    if (half > (b[0] - a[0]) * 0.75 || !free(xy[0], xy[1], half + 4, 9)) continue
    g.strokeStyle = p.colours.paper
    g.fillStyle = p.colours.ink2
    g.strokeText(d.name, xy[0], xy[1])
    g.fillText(d.name, xy[0], xy[1])
  }
}

/** resolve reads the colours of the theme as a canvas can use them. */
function resolve() {
  const probe = document.createElement('span')
  document.body.append(probe)
  const of = (value: string) => {
    probe.style.color = value
    return getComputedStyle(probe).color
  }
  const classes = shades.map(of)
  const root = getComputedStyle(document.documentElement)
  const found = {
    ink: of('var(--ink)'),
    ink2: of('var(--ink2)'),
    paper: of('var(--sheet)'),
    line: of('var(--rule2)'),
    done: of('var(--verdg)'),
    serif: root.getPropertyValue('--serif'),
    sans: root.getPropertyValue('--sans'),
    shade: (i: number) => classes[Math.min(i, classes.length - 1)]!,
  }
  probe.remove()
  return found
}

/** useColours follows the theme. */
export function useColours() {
  const [colours, set] = useState(resolve)
  useEffect(() => {
    const again = () => set(resolve())
    const watch = new MutationObserver(again)
    watch.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', again)
    void document.fonts.load('italic 13px Newsreader').then(again, () => {})
    return () => {
      watch.disconnect()
      system.removeEventListener('change', again)
    }
  }, [])
  return colours
}
