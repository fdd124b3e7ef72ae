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
import { around, classOf, cross, parseBox, steps, writeBox, type Box } from '../ui/geo'
import { useShortcuts } from '../ui/keys'
import { Trouble } from '../ui/parts'
import './atlas.css'
import { hit, paint, shades, useColours } from './atlasPaint'

type Cell = Schemas['ListingCell']

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
