import { readLineage } from '../api/lineage'
import { Problem } from '../api/problem'
import { labels, tail } from './labels'
import { Layout } from './layout'
import { Panned } from './pan'
import { into, nearest, toward, wayTo } from './pick'
import type { Colours, News, Order, Point, View } from './talk'
import { states, Tree } from './tree'

// The drawing has a thread of its own: it reads what it draws, so that the page never waits for it.

const most = 200_000 // URLs in the drawing; the table has all
const still = 120 // ms after the last move, after which the drawing is made sharp
const budget = 14 // ms of a frame while it moves; beyond it the lines to pages without children are left out until it rests

const page = self as unknown as {
  postMessage(news: News): void
  onmessage: (e: MessageEvent<Order>) => void
  requestAnimationFrame(act: () => void): number
}

let canvas: OffscreenCanvas
let to: OffscreenCanvasRenderingContext2D
let rough: OffscreenCanvas | undefined // where a pixel of the screen is finer than one of CSS: what is drawn while moving
let run = 0
let [width, height, scale] = [0, 0, 1] // CSS pixels; pixels of the screen a CSS pixel
let colours: Colours
let view: View | undefined
let lit: Uint8Array | undefined
let filter = { states: [] as number[], words: '' }
let chosen = { id: 0, links: [] as number[] }
let tree = new Tree()
let layout = new Layout(tree)
let after = '' // how far the run has been read
let reading = false
let again = false // it has changed while it was read
let cut = false

const pictures = new Map<string, Panned>()

function picture(w: number, h: number) {
  const key = `${w} ${h}`
  let p = pictures.get(key)
  if (!p) {
    if (pictures.size > 1) pictures.clear() // of an earlier size
    pictures.set(key, (p = new Panned(w, h)))
  }
  return p
}

/** changed draws all anew: more than the view has changed. */
function changed() {
  for (const p of pictures.values()) p.forget()
  move()
}

let asked = false
let slow = false // a frame of this move took longer than its budget
let later: ReturnType<typeof setTimeout> | undefined

/** move draws soon, roughly, and sharply when nothing moves any more. */
function move() {
  if (!asked) {
    asked = true
    page.requestAnimationFrame(() => {
      asked = false
      draw(scale === 1)
    })
  }
  clearTimeout(later)
  later = setTimeout(() => draw(true, true), still)
}

function draw(fine: boolean, crisp = false) {
  if (!view || width < 2 || height < 2) return
  const begun = performance.now()
  const by = fine ? scale : 1
  const [w, h] = [Math.round(width * by), Math.round(height * by)]
  const p = picture(w, h)
  p.paint(tree, layout, view, by, colours, lit, slow && !crisp, crisp)
  const image = new ImageData(new Uint8ClampedArray(p.to.px.buffer), w, h)
  if (fine) to.putImageData(image, 0, 0)
  else {
    if (rough?.width !== w || rough.height !== h) rough = new OffscreenCanvas(w, h)
    rough.getContext('2d')!.putImageData(image, 0, 0)
    to.drawImage(rough, 0, 0, canvas.width, canvas.height)
  }
  const ms = performance.now() - begun
  slow = !crisp && (slow || ms > budget)
  const named = crisp ? labels(tree, layout, view, width, height) : undefined
  page.postMessage({ is: 'frame', view, crisp, ms, labels: named })
}

/** read takes what is new of the run, in as many answers as it needs. */
async function read() {
  again = true
  if (reading || cut) return
  reading = true
  try {
    while (again) {
      again = false
      const first = after === ''
      for (let more = true; more && !cut;) {
        const l = await readLineage(run, after)
        after = l.next
        more = l.more
        cut = tree.put(l, most)
        if (l.ids.length > 0 && !(first && more)) show()
      }
      if (first && tree.n === 0) show()
    }
  } catch (caught) {
    const p = Problem.of(caught)
    page.postMessage({ is: 'trouble', status: p.status, title: p.title, detail: p.detail })
  } finally {
    reading = false
  }
}

function show() {
  const begun = performance.now()
  layout.grow()
  const layoutMS = performance.now() - begun
  if (filter.states.length > 0 || filter.words) light()
  page.postMessage({ is: 'there', urls: tree.n, cut, box: layout.bounds(), layoutMS })
  if (chosen.id) tellChosen()
  changed()
}

function light() {
  const words = filter.words.toLowerCase()
  if (filter.states.length === 0 && !words) {
    lit = undefined
    page.postMessage({ is: 'lit', urls: tree.n })
    return
  }
  const of = states.map((_, s) => filter.states.length === 0 || filter.states.includes(s))
  let urls = 0
  lit = new Uint8Array(tree.n)
  for (let i = 0; i < tree.n; i++) {
    if (of[tree.state[i]!] && (!words || tree.paths[i]!.toLowerCase().includes(words))) {
      lit[i] = 1
      urls++
    }
  }
  page.postMessage({ is: 'lit', urls })
}

const point = (i: number): Point => ({
  id: tree.id[i]!,
  x: tree.x[i]!,
  y: tree.y[i]!,
  state: tree.state[i]!,
  text: tail(tree.paths[i]!),
})

function tellChosen() {
  const at = tree.of(chosen.id)
  const way = at < 0 ? [] : wayTo(tree, at).map(point)
  const links = chosen.links
    .map(tree.of)
    .filter((i) => i >= 0)
    .map(point)
  page.postMessage({ is: 'chosen', way, links })
}

function picked(i: number) {
  if (i >= 0) page.postMessage({ is: 'picked', id: tree.id[i]! })
}

page.onmessage = ({ data: o }) => {
  switch (o.do) {
    case 'start':
      ;({ canvas, run, colours } = o)
      to = canvas.getContext('2d', { alpha: false })!
      size(o)
      void read()
      break
    case 'read':
      void read()
      break
    case 'size':
      size(o)
      move()
      break
    case 'colours':
      colours = o.colours
      changed()
      break
    case 'view':
      view = o.view
      move()
      break
    case 'filter':
      filter = o
      light()
      changed()
      break
    case 'choose':
      chosen = o
      tellChosen()
      break
    case 'point': {
      const i = nearest(tree, o.x, o.y, o.within)
      page.postMessage({ is: 'under', point: i < 0 ? undefined : point(i) })
      break
    }
    case 'pick': {
      const i = nearest(tree, o.x, o.y, o.within)
      page.postMessage({ is: 'picked', id: i < 0 ? 0 : tree.id[i]! })
      break
    }
    case 'step': {
      const from = tree.of(chosen.id)
      if (tree.n > 0) picked(from < 0 ? 0 : toward(tree, from, o.right, o.down))
      break
    }
    case 'into': {
      const from = tree.of(chosen.id)
      if (tree.n > 0) picked(from < 0 ? 0 : into(tree, from))
      break
    }
    case 'out': {
      const from = tree.of(chosen.id)
      if (from >= 0) picked(tree.parent[from]!)
      break
    }
  }
}

function size(o: { width: number; height: number; scale: number }) {
  ;({ width, height, scale } = o)
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
}
