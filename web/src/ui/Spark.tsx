import { memo } from 'react'

import type { Schemas } from '../api/client'
import { strokes, within } from './strokes'

type Past = Pick<Schemas['QueuePast'], 'since' | 'slot_seconds'>
type Point = Schemas['QueuePoint']

/** gapOf is how long no sample was taken when a line has a hole, in ms. */
export const gapOf = (past: Past) => 2500 * past.slot_seconds

const colours = { done: 'var(--verdg)', look: 'var(--ochrg)', failed: 'var(--vermg)', idle: 'var(--ink3)' }

/** Spark is one figure over time, as small as a word; the cells beside it say what is true now. */
export const Spark = memo(function Spark(p: { past: Past; points: Point[]; state: keyof typeof colours }) {
  const [w, h] = [74, 16]
  const runs = strokes(p.points, within(Date.parse(p.past.since), Date.now()), gapOf(p.past), (one) => one.ready)
  const top = Math.max(1, ...p.points.map((one) => one.ready))
  const at = ([x, v]: [number, number]) => `${(x * w).toFixed(1)} ${(h - 1.5 - (v / top) * (h - 4)).toFixed(1)}`
  const colour = colours[p.state]
  return (
    <svg className="spark" width={w} height={h} viewBox={`0 0 ${w} ${h}`} aria-hidden="true">
      <path d={`M0 ${h - 0.5}H${w}`} stroke="var(--rule)" />
      {runs.map((run, i) => {
        const line = run.length > 1 ? run.map(at).join('L') : `${at(run[0]!)}h1`
        const [from, to] = [run[0]![0] * w, run.at(-1)![0] * w]
        return (
          <g key={i}>
            <path d={`M${line}L${to.toFixed(1)} ${h}L${from.toFixed(1)} ${h}Z`} fill={colour} opacity=".13" />
            <path d={`M${line}`} fill="none" stroke={colour} strokeWidth="1.2" strokeLinejoin="round" />
          </g>
        )
      })}
    </svg>
  )
})
