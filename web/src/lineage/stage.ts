import type { Ink, Over } from './overlay'
import type { Box, News, View } from './talk'

/** What is not of React: it changes with each frame. */
export interface Stage {
  worker: Worker
  base: HTMLCanvasElement
  over: HTMLCanvasElement
  width: number
  height: number
  scale: number
  view?: View
  box?: Box
  touched: boolean // somebody has moved the view
  ink?: Ink
  shown: Over
  framed?: View // the last frame
  moving: number[] // ms of the last frames
  zooming: number[] // of those of another size than the frame before
}

/** staged is a stage before anything is drawn; its size is not known yet. */
export const staged = (worker: Worker, base: HTMLCanvasElement, over: HTMLCanvasElement): Stage => ({
  worker,
  base,
  over,
  width: 0,
  height: 0,
  scale: 1,
  touched: false,
  shown: { labels: [], way: [], links: [], seed: '' },
  moving: [],
  zooming: [],
})

/** timed notes how long a frame took, of those that move and those that zoom. */
export function timed(at: HTMLElement, s: Stage, n: Extract<News, { is: 'frame' }>) {
  const zooming = s.framed?.k !== n.view.k
  const of = zooming ? s.zooming : s.moving
  of.push(n.ms)
  at.dataset.frames = String(Number(at.dataset.frames ?? 0) + 1)
  if (of.length > 120) of.shift()
  const most = of.toSorted((a, b) => a - b)[Math.floor(of.length * 0.95)]!.toFixed(1)
  at.dataset[zooming ? 'zoomingMs' : 'movingMs'] = most
}

/** holds reports whether all of a box is in a view. */
export const holds = (s: Stage, v: View, box: Box) =>
  box.left * v.k + v.x >= 0 &&
  box.top * v.k + v.y >= 0 &&
  box.right * v.k + v.x <= s.width &&
  box.bottom * v.k + v.y <= s.height
