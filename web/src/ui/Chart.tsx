import { useEffect, useRef, useState } from 'react'

import { useSay } from '../say/Say'
import { strokes, within } from './strokes'
import './chart.css'

const height = 132 // CSS pixels
const [left, right, top, bottom] = [40, 4, 8, 20]
const rowsShown = 60 // of the table: samples are thinned out to about this many, the newest is kept

/** A Line is a figure of a Chart: what it is, how it is drawn, and its value in a sample; undefined = not known. */
export interface Line<P> {
  name: string
  colour: string
  dash?: string
  fill?: boolean
  of: (p: P) => number | undefined
}

/** Chart draws figures of one unit over time. Its table has the same for those who do not see it, and for copying. */
export function Chart<P extends { at: string }>(p: {
  label: string
  points: P[] // the oldest first
  lines: Line<P>[]
  since?: string // where the drawing begins and ends: where it is not told, with the first and the last sample
  until?: string
  gap?: number // ms without a sample after which no line is drawn: nobody has seen what was then
  time: (at: number) => string
  value: (v: number) => string
  head: string // of the times in the table
  empty: string
}) {
  const { say } = useSay()
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(480)
  const [over, setOver] = useState<number>()
  useEffect(() => {
    const o = new ResizeObserver(([e]) => e && setWidth(Math.max(120, Math.round(e.contentRect.width))))
    o.observe(box.current!)
    return () => o.disconnect()
  }, [])
  const n = p.points.length
  if (n === 0 || (n === 1 && !p.since)) {
    return (
      <div ref={box} className="chart">
        <p className="empty">{p.empty}</p>
      </div>
    )
  }
  const max = nice(Math.max(0, ...p.points.flatMap((q) => p.lines.map((l) => l.of(q) ?? 0))))
  const [from, to] = [Date.parse(p.since ?? p.points[0]!.at), Date.parse(p.until ?? p.points[n - 1]!.at)]
  const wide = width - left - right
  const x = (part: number) => (left + part * wide).toFixed(1)
  const y = (v: number) => (height - bottom - (v / max) * (height - top - bottom)).toFixed(1)
  const part = within(from, to)
  const ticks = Math.max(2, Math.min(6, Math.floor(width / 90)))
  const written = (v: number | undefined) => (v === undefined ? '–' : p.value(v))
  const figures = (q: P) => p.lines.map((l) => (p.lines.length > 1 ? `${l.name} ` : '') + written(l.of(q))).join(' · ')
  const pointed = over === undefined ? undefined : p.points[Math.min(over, n - 1)]
  const each = Math.ceil(n / rowsShown)
  return (
    <div ref={box} className="chart">
      {p.lines.length > 1 && <Legend lines={p.lines} />}
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`${p.label}: ${figures(p.points[n - 1]!)}`}
        onPointerMove={(e) => {
          const share = (e.clientX - e.currentTarget.getBoundingClientRect().left - left) / wide
          const at = from + share * (to - from)
          const after = p.points.findIndex((q) => Date.parse(q.at) >= at)
          const last = after < 0 ? n - 1 : after
          const before = Math.max(0, last - 1)
          setOver(Date.parse(p.points[last]!.at) - at < at - Date.parse(p.points[before]!.at) ? last : before)
        }}
        onPointerLeave={() => setOver(undefined)}
      >
        {[0, 0.5, 1].map((f) => (
          <g key={f}>
            <path d={`M${left} ${y(max * f)}H${width - right}`} stroke="var(--rule)" />
            <text x={left - 6} y={+y(max * f) + 4} textAnchor="end">
              {p.value(max * f)}
            </text>
          </g>
        ))}
        {p.lines.map((l) =>
          strokes(p.points, part, p.gap ?? Infinity, l.of).map((run, i) => {
            const line = run.map(([at, v]) => `${x(at)} ${y(v)}`).join('L') + (run.length > 1 ? '' : 'h2')
            return (
              <g key={l.name + i}>
                {l.fill && (
                  <path d={`M${line}V${y(0)}H${x(run[0]![0])}Z`} fill={l.colour} opacity=".13" stroke="none" />
                )}
                <path
                  d={`M${line}`}
                  fill="none"
                  stroke={l.colour}
                  strokeWidth="1.4"
                  strokeDasharray={l.dash}
                  strokeLinejoin="round"
                />
              </g>
            )
          }),
        )}
        {Array.from({ length: ticks }, (_, i) => i / (ticks - 1)).map((f, i) => (
          <text key={i} x={x(f)} y={height - 4} textAnchor={i === 0 ? 'start' : i === ticks - 1 ? 'end' : 'middle'}>
            {p.time(from + f * (to - from))}
          </text>
        ))}
        {pointed && (
          <g pointerEvents="none">
            <path d={`M${x(part(Date.parse(pointed.at)))} ${top}V${y(0)}`} stroke="var(--ink3)" />
            {p.lines.map((l) => {
              const v = l.of(pointed)
              if (v === undefined) return null
              return <circle key={l.name} cx={x(part(Date.parse(pointed.at)))} cy={y(v)} r="3" fill={l.colour} />
            })}
          </g>
        )}
      </svg>
      <details>
        <summary className="mu">
          {pointed ? `${p.time(Date.parse(pointed.at))} · ${figures(pointed)}` : say.asTable}
        </summary>
        <div className="scroll" tabIndex={0} role="region" aria-label={p.label}>
          <table>
            <thead>
              <tr>
                <th scope="col">{p.head}</th>
                {p.lines.map((l) => (
                  <th key={l.name} scope="col" className="r">
                    {l.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {p.points
                .filter((_, i) => (n - 1 - i) % each === 0)
                .reverse()
                .map((q) => (
                  <tr key={q.at}>
                    <td>{p.time(Date.parse(q.at))}</td>
                    {p.lines.map((l) => (
                      <td key={l.name} className="r">
                        {written(l.of(q))}
                      </td>
                    ))}
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </details>
    </div>
  )
}

function Legend({ lines }: { lines: { name: string; colour: string; dash?: string }[] }) {
  return (
    <p className="legend">
      {lines.map((l) => (
        <span key={l.name}>
          <svg className="key" width="18" height="8" viewBox="0 0 18 8" aria-hidden="true">
            <path d="M0 4H18" stroke={l.colour} strokeWidth="2" strokeDasharray={l.dash} />
          </svg>
          {l.name}
        </span>
      ))}
    </p>
  )
}

/** nice is the next number that is easy to halve. */
function nice(v: number) {
  if (!(v > 0)) return 1
  const unit = 10 ** Math.floor(Math.log10(v))
  return [1, 2, 4, 6, 8, 10].find((f) => f * unit >= v)! * unit
}
