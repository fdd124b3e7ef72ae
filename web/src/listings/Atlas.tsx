import { useNavigate } from '@tanstack/react-router'
import Feature from 'ol/Feature'
import OLMap from 'ol/Map'
import View from 'ol/View'
import MultiPolygon from 'ol/geom/MultiPolygon'
import { defaults as interactions } from 'ol/interaction/defaults'
import DragBox from 'ol/interaction/DragBox'
import DragPan from 'ol/interaction/DragPan'
import { shiftKeyOnly } from 'ol/events/condition'
import TileLayer from 'ol/layer/Tile'
import VectorLayer from 'ol/layer/Vector'
import { fromLonLat, transformExtent } from 'ol/proj'
import VectorSource from 'ol/source/Vector'
import XYZ from 'ol/source/XYZ'
import Fill from 'ol/style/Fill'
import Stroke from 'ol/style/Stroke'
import Style from 'ol/style/Style'
import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { useCells, useNeighbourhoods, useSession, type Filters } from '../api/queries'
import { count, money } from '../say/format'
import { useSay } from '../say/Say'
import { around, classOf, cross, middle, outline, parseBox, steps, writeBox, type Box, type Polygons } from '../ui/geo'
import { useShortcuts } from '../ui/keys'
import { Trouble } from '../ui/parts'
import './atlas.css'

type Cell = Schemas['ListingCell']

// Classes of median rents, the lowest first.
const shades = [8, 20, 34, 50, 68].map((n) => `color-mix(in srgb, var(--verdg) ${n}%, transparent)`)

const degrees = 'EPSG:4326'
const metres = 'EPSG:3857'
const island: Box = [-73.98, 45.4, -73.47, 45.71]
const region: Box = [-74.3, 45.2, -73.2, 45.9] // what is shown to fit the result at most

/**
 * Atlas is the map of the listings that match: districts by their median rent, and squares with how many there are. Its
 * text is drawn here, not by OpenLayers, which measures text by a way that the policy of the page refuses.
 */
export default function Atlas({ filters, onBox }: { filters: Filters; onBox: (bbox: string) => void }) {
  const { say, language } = useSay()
  const t = say.listing.map
  const navigate = useNavigate()
  const [seen, see] = useState<{ box: Box; zoom: number }>()
  const [drawing, draw] = useState(false)
  const [pointed, point] = useState<Cell>()
  const { bbox, ...others } = filters
  const chosen = parseBox(bbox)
  const part = seen && (chosen ? cross(seen.box, chosen) : seen.box)
  const cells = useCells(others, part ? writeBox(part) : '', seen?.zoom ?? 0)
  const whole = useCells(others, writeBox(chosen ?? region), 9)
  const districts = useNeighbourhoods(true).data
  const session = useSession().data
  const shown = part ? (cells.data?.cells ?? []) : []
  const width = cells.data?.width ?? 0
  const medians = (districts?.items ?? []).flatMap((d) => d.median_rent_cents ?? [])
  const limits = steps(medians, shades.length)

  const target = useRef<HTMLDivElement>(null)
  const over = useRef<HTMLCanvasElement>(null)
  const map = useRef<OLMap>(undefined)
  const colours = useColours()

  // What the map draws, for its handlers: they are made once.
  const state = useRef({ shown, width, drawing, districts, limits, colours, chosen, onBox, filters })
  state.current = { shown, width, drawing, districts, limits, colours, chosen, onBox, filters }

  useEffect(() => {
    const pan = new DragPan({ condition: (e) => !state.current.drawing && !shiftKeyOnly(e) })
    const box = new DragBox({ condition: (e) => state.current.drawing || shiftKeyOnly(e), className: 'atlas-box' })
    const districts = new VectorLayer({ source: new VectorSource(), properties: { name: 'districts' } })
    const m = new OLMap({
      target: target.current!,
      controls: [], // those of OpenLayers write HTML, which the policy refuses; ours are beside the map
      interactions: interactions({ shiftDragZoom: false, dragPan: false, onFocusOnly: true }).extend([pan, box]),
      layers: [districts],
      view: new View({ center: fromLonLat([-73.65, 45.53]), zoom: 10.6, minZoom: 4, maxZoom: 19 }),
    })
    map.current = m
    m.getView().fit(transformExtent(state.current.chosen ?? island, degrees, metres), { padding: [12, 12, 12, 12] })
    m.on('moveend', () => {
      const zoom = m.getView().getZoom() ?? 10
      const box = transformExtent(m.getView().calculateExtent(m.getSize()), metres, degrees) as Box
      see({ box: parseBox(writeBox(box))!, zoom: Math.round(zoom) })
    })
    m.on('postrender', () => paint(over.current, m, state.current))
    m.on('pointermove', (e) => {
      const cell = e.dragging ? undefined : hit(m, state.current.shown, state.current.width, e.pixel)
      point(cell)
      target.current!.style.cursor = state.current.drawing ? 'crosshair' : cell ? 'pointer' : ''
    })
    m.on('click', (e) => {
      const cell = hit(m, state.current.shown, state.current.width, e.pixel)
      if (cell?.id) {
        void navigate({ to: `/listings/${cell.id}` as '/', search: state.current.filters as never })
      } else if (cell) {
        m.getView().animate({
          center: fromLonLat([cell.longitude, cell.latitude]),
          zoom: (m.getView().getZoom() ?? 10) + 2,
          duration: still() ? 0 : 200,
        })
      }
    })
    box.on('boxend', () => {
      draw(false)
      state.current.onBox(writeBox(transformExtent(box.getGeometry().getExtent(), metres, degrees) as Box))
    })
    return () => m.setTarget(undefined)
  }, [navigate])

  // Streets, where the installation has a source of them; the policy allows its host alone.
  const tiles = session?.map?.tiles
  useEffect(() => {
    if (!tiles) return
    const streets = new TileLayer({ source: new XYZ({ url: tiles, crossOrigin: null }), opacity: 0.7 })
    map.current!.getLayers().insertAt(0, streets)
    return () => void map.current?.removeLayer(streets)
  }, [tiles])

  useEffect(() => {
    const layer = map
      .current!.getLayers()
      .getArray()
      .find((l) => l.get('name') === 'districts') as VectorLayer
    const source = layer.getSource()!
    source.clear()
    const now = state.current
    for (const d of districts?.items ?? []) {
      const f = new Feature(new MultiPolygon(d.polygons ?? []).transform(degrees, metres))
      const cents = d.median_rent_cents
      f.setStyle(
        new Style({
          fill: new Fill({ color: cents ? colours.shade(classOf(cents, now.limits)) : 'transparent' }),
          stroke: new Stroke({ color: colours.line, width: 1 }),
        }),
      )
      source.addFeature(f)
    }
  }, [districts, colours])

  useEffect(() => map.current?.render(), [shown, colours, bbox])

  const fit = () => {
    const all = whole.data?.cells ?? []
    const total = all.reduce((n, c) => n + c.count, 0)
    let n = 0
    const most = all.filter((c) => {
      const take = n < 0.98 * total // a few far away do not make the rest invisible
      n += c.count
      return take
    })
    const half = { x: (whole.data?.width ?? 0) / 2, y: (whole.data?.height ?? 0) / 2 }
    const corners = most.flatMap((c) => [
      [c.longitude - half.x, c.latitude - half.y],
      [c.longitude + half.x, c.latitude + half.y],
    ])
    const box = chosen ?? around(corners)
    if (!box) return
    map.current?.getView().fit(transformExtent(box, degrees, metres), {
      padding: [12, 12, 12, 12],
      maxZoom: 15,
      duration: still() ? 0 : 200,
    })
  }
  const fitted = useRef('')
  useEffect(() => {
    const key = JSON.stringify(filters)
    if (!whole.data || whole.isPlaceholderData || fitted.current === key) return
    fitted.current = key
    if (Object.keys(filters).some((name) => name !== 'sort')) fit()
  })
  const zoom = (by: number) => {
    const view = map.current!.getView()
    view.animate({ zoom: (view.getZoom() ?? 10) + by, duration: still() ? 0 : 150 })
  }
  useShortcuts([{ keys: 'f', what: t.fit, act: fit }])
  const onMap = shown.reduce((n, c) => n + c.count, 0)
  return (
    <div className="atlas">
      <Trouble error={cells.error} again={() => void cells.refetch()} />
      <div className="atlas-window">
        <div
          ref={target}
          className="atlas-map"
          tabIndex={0}
          role="application"
          aria-label={t.label}
          aria-describedby="atlas-help"
        />
        <canvas ref={over} aria-hidden="true" />
        <div className="atlas-acts">
          <button className="btn" aria-label={t.in} title={t.in} onClick={() => zoom(1)}>
            +
          </button>
          <button className="btn" aria-label={t.out} title={t.out} onClick={() => zoom(-1)}>
            −
          </button>
          <button className="btn" onClick={fit}>
            {t.fit} <kbd>f</kbd>
          </button>
          <button className="btn" aria-pressed={drawing} onClick={() => draw(!drawing)}>
            {t.box}
          </button>
          {bbox && (
            <button className="btn" onClick={() => onBox('')}>
              {t.noBox} <span aria-hidden="true">×</span>
            </button>
          )}
        </div>
        {pointed && (
          <p className="atlas-tip">
            {t.cell(pointed.count, count(pointed.count, language), money(pointed.median_rent_cents))}
          </p>
        )}
      </div>
      <p className="cap">
        <span className="legend">
          {medians.length > 0 && <span>{t.medians}</span>}
          {limits.length > 0 &&
            [...limits, Infinity].map((limit, i) => (
              <span key={limit}>
                <i style={{ background: colours.shade(i) }} />
                {limit === Infinity ? t.above(money(limits.at(-1)!)) : t.below(money(limit))}
              </span>
            ))}
        </span>
        <span>{[districts?.attribution, session?.map?.attribution].filter(Boolean).join('; ')}</span>
      </p>
      <p className="mu" role="status">
        {cells.data ? t.onMap(onMap, count(onMap, language)) : '\u00a0'}
      </p>
      <p className="mu" id="atlas-help">
        {t.help}
      </p>
    </div>
  )
}

const still = () => matchMedia('(prefers-reduced-motion: reduce)').matches

/** radius is that of the circle of a square that is wide pixels wide: circles cover little of their neighbours. */
const radius = (c: Cell, wide: number) =>
  c.count === 1 ? 5 : Math.min(9 + 3.2 * Math.log2(c.count), Math.max(wide * 0.48, 10))

/** pixels is how wide a square of the map is on the screen. */
function pixels(m: OLMap, degreesWide: number) {
  const [a, b] = [0, degreesWide].map((x) => m.getPixelFromCoordinate(fromLonLat([x - 73.6, 45.5])))
  return a && b ? b[0]! - a[0]! : 0
}

/** hit is the square under a pixel. */
function hit(m: OLMap, cells: Cell[], width: number, pixel: number[]) {
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
function paint(canvas: HTMLCanvasElement | null, m: OLMap, p: Painted) {
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
function useColours() {
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
