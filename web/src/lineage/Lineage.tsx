import { useCallback, useEffect, useRef, useState, type KeyboardEvent } from 'react'

import { Problem } from '../api/problem'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { useShortcuts } from '../ui/keys'
import { Trouble } from '../ui/parts'
import { useTyped } from '../ui/typed'
import { coloursOf } from './colours'
import { over } from './overlay'
import { usePointers } from './pointers'
import { holds, staged, timed, type Stage } from './stage'
import { start } from './start'
import type { News, Order, View } from './talk'
import { states as all } from './tree'
import './lineage.css'

const [least, greatest] = [0.002, 24] // of a view's k

/**
 * Lineage draws which page of a run led to which URL first. The table whose ID is `table` has the same in words. Its root
 * says for tests and measurements what it has done: data-drawn is how many URLs are drawn sharply, data-frames how many
 * frames were drawn while it moved, data-layout-ms, data-moving-ms and data-zooming-ms (95 of 100 frames took less) and
 * data-crisp-ms how long that took.
 */
export function Lineage(p: {
  run: number
  seq: number // grows with each change of the run
  states: string[] // those that are lit; none = all
  words: string
  chosen: number // ID of a URL; 0 = none
  links: number[] // IDs of URLs that the chosen one is linked with
  onChoose: (id: number) => void
  onWords: (words: string) => void
  table: string
  tools?: React.ReactNode
}) {
  const { say, language } = useSay()
  const t = say.run.graph
  const root = useRef<HTMLDivElement>(null)
  const probe = useRef<HTMLElement>(null)
  const stage = useRef<Stage>(undefined)
  const [typed, type] = useTyped(p.words, p.onWords, 200)
  const [there, setThere] = useState<{ urls: number; cut: boolean }>()
  const [lit, setLit] = useState<number>()
  const [trouble, setTrouble] = useState<Problem>()
  const choose = useRef(p.onChoose)
  choose.current = p.onChoose
  const seed = useRef(t.seed)
  seed.current = t.seed

  const tell = useCallback((o: Order) => stage.current?.worker.postMessage(o), [])

  const overlay = useCallback(() => {
    const s = stage.current
    if (s?.view && s.ink) over(s.over, { ...s.shown, seed: seed.current }, s.view, s.scale, s.ink)
  }, [])

  const look = useCallback(
    (view: View) => {
      const s = stage.current
      if (!s) return
      s.view = { ...view, k: Math.min(greatest, Math.max(least, view.k)) }
      tell({ do: 'view', view: s.view })
    },
    [tell],
  )

  /** fit shows all; slack < 1 leaves room for what comes. */
  const fit = useCallback(
    (slack = 1) => {
      const s = stage.current
      if (!s?.box || s.width < 2) return
      const { left, right, top, bottom } = s.box
      const k = Math.min((s.width - 44) / (right - left), (s.height - 92) / (bottom - top), 2.2) * slack
      look({ k, x: s.width / 2 - ((left + right) / 2) * k, y: s.height / 2 - ((top + bottom) / 2) * k })
    },
    [look],
  )

  const zoom = useCallback(
    (by: number, x?: number, y?: number) => {
      const s = stage.current
      if (!s?.view) return
      s.touched = true
      const [cx, cy] = [x ?? s.width / 2, y ?? s.height / 2]
      const k = Math.min(greatest, Math.max(least, s.view.k * by))
      const f = k / s.view.k
      look({ k, x: cx - (cx - s.view.x) * f, y: cy - (cy - s.view.y) * f })
    },
    [look],
  )

  useEffect(() => {
    const at = root.current!
    // A canvas can be given to a worker once, so each start makes its own.
    const [base, top] = [document.createElement('canvas'), document.createElement('canvas')]
    if (!('transferControlToOffscreen' in base)) {
      setTrouble(new Problem(501, 'OffscreenCanvas', ''))
      return
    }
    at.prepend(base, top)
    const worker = start()
    const s = staged(worker, base, top)
    stage.current = s
    const size = () => {
      s.width = at.clientWidth
      s.height = at.clientHeight
      s.scale = Math.min(2, devicePixelRatio || 1)
      top.width = Math.round(s.width * s.scale)
      top.height = Math.round(s.height * s.scale)
    }
    size()
    const paint = () => {
      const { colours, ink } = coloursOf(probe.current!)
      s.ink = ink
      return colours
    }
    worker.onmessage = (e: MessageEvent<News>) => {
      const n = e.data
      switch (n.is) {
        case 'there': {
          setThere({ urls: n.urls, cut: n.cut })
          setTrouble(undefined)
          at.dataset.layoutMs = n.layoutMS.toFixed(1)
          s.box = n.box
          if (!s.view) fit()
          else if (!s.touched && !holds(s, s.view, n.box)) fit(0.75)
          at.dataset.urls = String(n.urls)
          break
        }
        case 'frame':
          if (n.labels) s.shown.labels = n.labels
          if (n.crisp) {
            at.dataset.drawn = at.dataset.urls
            at.dataset.crispMs = n.ms.toFixed(1)
          } else timed(at, s, n)
          s.framed = n.view
          overlay()
          break
        case 'chosen':
          s.shown.way = n.way
          s.shown.links = n.links
          at.dataset.way = n.way.map((w) => w.id).join(' ')
          show(s, n.way.at(-1))
          overlay()
          break
        case 'picked':
          choose.current(n.id)
          break
        case 'under':
          s.shown.under = n.point
          overlay()
          break
        case 'lit':
          setLit(n.urls)
          break
        case 'trouble':
          setTrouble(new Problem(n.status, n.title, n.detail))
      }
    }
    /** show brings a URL into the view that was chosen elsewhere, and lies outside of it. */
    const show = (s: Stage, point?: { x: number; y: number }) => {
      if (!point || !s.view) return
      const [x, y] = [point.x * s.view.k + s.view.x, point.y * s.view.k + s.view.y]
      if (x > 10 && y > 10 && x < s.width - 10 && y < s.height - 10) return
      s.touched = true
      look({ k: s.view.k, x: s.view.x + s.width / 2 - x, y: s.view.y + s.height / 2 - y })
    }
    const canvas = base.transferControlToOffscreen()
    const colours = paint()
    worker.postMessage(
      { do: 'start', canvas, run: p.run, width: s.width, height: s.height, scale: s.scale, colours } satisfies Order,
      [canvas],
    )
    const resized = new ResizeObserver(() => {
      size()
      tell({ do: 'size', width: s.width, height: s.height, scale: s.scale })
      if (!s.touched) fit()
      overlay()
    })
    resized.observe(at)
    const themed = () => tell({ do: 'colours', colours: paint() })
    const theme = new MutationObserver(themed)
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', themed)
    void document.fonts.ready.then(overlay)
    const wheel = (e: WheelEvent) => {
      // A page that scrolls below the pointer is not stopped by the drawing, unless somebody works with it.
      if (!e.ctrlKey && !at.contains(document.activeElement)) return
      e.preventDefault()
      const r = at.getBoundingClientRect()
      zoom(Math.exp(-e.deltaY * (e.ctrlKey ? 0.01 : 0.0015)), e.clientX - r.left, e.clientY - r.top)
    }
    at.addEventListener('wheel', wheel, { passive: false })
    return () => {
      worker.terminate()
      resized.disconnect()
      theme.disconnect()
      dark.removeEventListener('change', themed)
      at.removeEventListener('wheel', wheel)
      base.remove()
      top.remove()
      stage.current = undefined
    }
  }, [p.run, tell, overlay, look, fit, zoom])

  useEffect(() => tell({ do: 'read' }), [p.seq, tell])
  const lighted = p.states.map((name) => all.indexOf(name as (typeof all)[number])).join()
  useEffect(
    () => tell({ do: 'filter', states: lighted ? lighted.split(',').map(Number) : [], words: p.words }),
    [lighted, p.words, tell, p.run],
  )
  const links = p.links.join()
  useEffect(
    () => tell({ do: 'choose', id: p.chosen, links: links ? links.split(',').map(Number) : [] }),
    [p.chosen, links, tell, p.run],
  )
  useShortcuts([{ keys: 'f', what: t.fit, act: () => fit() }])

  const pointers = usePointers(root, stage, { tell, look, zoom, overlay })
  const onKey = (e: KeyboardEvent) => {
    if (e.target !== root.current || e.ctrlKey || e.metaKey || e.altKey) return
    const act = {
      ArrowLeft: () => tell({ do: 'step', right: -1, down: 0 }),
      ArrowRight: () => tell({ do: 'step', right: 1, down: 0 }),
      ArrowUp: () => tell({ do: 'step', right: 0, down: -1 }),
      ArrowDown: () => tell({ do: 'step', right: 0, down: 1 }),
      Enter: () => tell({ do: 'into' }),
      Backspace: () => tell({ do: 'out' }),
      Escape: () => p.onChoose(0),
      f: () => fit(),
      '+': () => zoom(1.4),
      '=': () => zoom(1.4),
      '-': () => zoom(1 / 1.4),
    }[e.key]
    if (!act) return
    e.preventDefault()
    e.stopPropagation()
    act()
  }

  const note = there && (there.cut ? t.cut(count(there.urls, language)) : t.each)
  return (
    <>
      {trouble && trouble.status !== 501 && <Trouble error={trouble} again={() => tell({ do: 'read' })} />}
      <div
        ref={root}
        className="lineage"
        role="application"
        tabIndex={0}
        aria-label={t.label}
        aria-details={p.table}
        {...pointers}
        onKeyDown={onKey}
      >
        <i ref={probe} hidden />
        <div className="tools">
          <input
            className="in"
            type="search"
            aria-label={t.find}
            placeholder={t.find}
            maxLength={500}
            value={typed}
            onChange={(e) => type(e.target.value)}
          />
          {p.tools}
          {lit !== undefined && (p.words !== '' || p.states.length > 0) && (
            <span className="mu" aria-live="polite">
              {t.lit(lit, count(lit, language))}
            </span>
          )}
        </div>
        <div className="seg zoom">
          <button onClick={() => zoom(1 / 1.4)} aria-label={t.smaller}>
            −
          </button>
          <button
            onClick={() => {
              if (stage.current) stage.current.touched = false
              fit()
            }}
          >
            {t.fit}
          </button>
          <button onClick={() => zoom(1.4)} aria-label={t.larger}>
            +
          </button>
        </div>
        <p className="hint mu">{trouble?.status === 501 ? t.noCanvas : note}</p>
      </div>
    </>
  )
}
