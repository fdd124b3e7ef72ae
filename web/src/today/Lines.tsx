import type { Schemas } from '../api/client'
import { count, duration } from '../say/format'
import { useSay } from '../say/Say'
import { ToPage } from '../ui/ToPage'

type Source = Pick<Schemas['FlowSource'], 'source' | 'in'>

/** sourcesOf are the sources of a line by name: four, the last one of which stands for the smaller ones if there are more. */
export function sourcesOf(all: Source[], rest: (n: number) => string): Source[] {
  if (all.length <= 4) return all
  const large = [...all].sort((a, b) => b.in - a.in).slice(0, 3)
  const others = all.filter((s) => !large.includes(s))
  return [
    ...all.filter((s) => large.includes(s)),
    { source: rest(others.length), in: others.reduce((sum, s) => sum + s.in, 0) },
  ]
}

/** Lines draws what passed the pipeline as a line with stations: what came in on the left, what fell off in red. */
export function Lines({ flow }: { flow: Schemas['FlowReport'] }) {
  const { say, language } = useSay()
  const t = say.today.lines
  const line = flow.lines[0]
  if (!line) return null
  const sum = flow.listings
  const n = (v: number) => count(v, language)
  const station = (name: string) => line.stations.find((s) => s.station === name)
  const out = (name: string, ...outcomes: string[]) =>
    station(name)
      ?.out.filter((o) => outcomes.includes(o.outcome))
      .reduce((a, o) => a + o.n, 0) ?? 0
  const took = (name: string) => {
    const s = station(name)
    return s && s.p50_ms > 0 ? duration(s.p50_ms / 1000, language) : ''
  }
  const went = sum.in - sum.unchanged
  const stations = [
    {
      x: 490,
      name: 'normalize',
      label: t.normalize,
      n: went,
      off: sum.refused,
      offText: t.refused,
      to: '/refused',
      search: { since: flow.since },
    },
    {
      x: 640,
      name: 'dedupe',
      label: t.dedupe,
      n: went - sum.refused,
      off: sum.twins,
      offText: t.twins,
      to: '/duplicates',
      quiet: true,
    },
    { x: 790, name: 'publish', label: t.publish, n: sum.new + sum.changed + sum.back },
    {
      x: 940,
      name: 'images',
      label: t.images,
      n: out('images', 'attached', 'repeated'),
      off: out('images', 'failed'),
      offText: t.failed,
      to: '/dead-letters',
    },
  ]
  const sources = sourcesOf(line.sources, t.rest)
  const most = Math.max(1, ...sources.map((s) => s.in))
  const alt = t.alt(sum.in, sum.unchanged, sum.refused, sum.twins, sum.new, sum.changed)
  return (
    <div className="scroll lines">
      <svg viewBox="0 0 1204 150" role="group" aria-label={alt}>
        <text className="nm" x="0" y="36">
          {say.nav.listings}
        </text>
        <text className="mu" x="0" y="52">
          {t.in(sum.in)}
        </text>
        {sources.map((s, i) => {
          const h = Math.max(2, (26 * s.in) / most)
          const y = 30 + i * 30
          return (
            <g key={s.source}>
              <path
                d={`M112 ${y - h / 2}C220 ${y - h / 2} 230 ${31 - h / 4} 300 ${31 - h / 4}V${31 + h / 4}C230 ${31 + h / 4} 220 ${y + h / 2} 112 ${y + h / 2}Z`}
                fill="var(--verdg)"
                opacity=".16"
              />
              <text className="lb" x="116" y={y + 4}>
                <tspan className="ct">{n(s.in)}</tspan> {s.source}
              </text>
            </g>
          )
        })}
        <path d="M300 31H1160" stroke="var(--ink)" strokeWidth="2.6" />
        <path d="M1156 26.5 1165 31l-9 4.5z" fill="var(--ink)" />
        <path d="M300 14V76" stroke="var(--ink)" strokeWidth="2.6" />
        <text className="lb" x="300" y="10" textAnchor="middle">
          {t.door}
        </text>
        <path d="M302 70c40 0 30 44 90 44" fill="none" stroke="var(--verdg)" strokeWidth="1.6" opacity=".6" />
        <text className="ct" x="398" y="112">
          {t.unchanged(sum.unchanged)}
        </text>
        <text className="mu" x="398" y="127">
          {t.settled}
        </text>
        {stations.map((s) => (
          <g key={s.name}>
            <text className="lb" x={s.x} y="15" textAnchor="middle">
              <tspan className="ct">{s.label}</tspan> <tspan className="mu">{took(s.name)}</tspan>
            </text>
            <circle cx={s.x} cy="31" r="7" fill="var(--paper)" stroke="var(--ink)" strokeWidth="2.6" />
            <text className="ct" x={s.x} y="56" textAnchor="middle">
              {n(s.n)}
            </text>
            {!!s.off && (
              <>
                <path
                  d={`M${s.x + 7} 33c20 0 22 20 22 44`}
                  fill="none"
                  stroke={s.quiet ? 'var(--ink3)' : 'var(--vermg)'}
                  strokeWidth="1.6"
                />
                {s.quiet ? (
                  <circle cx={s.x + 29} cy="80" r="3" fill="var(--paper)" stroke="var(--ink3)" strokeWidth="1.4" />
                ) : (
                  <rect x={s.x + 25.5} y="77" width="7" height="7" fill="var(--vermg)" />
                )}
                <ToPage to={s.to} search={s.search}>
                  <text className={s.quiet ? 'ct' : 'x'} x={s.x + 38} y="85">
                    {n(s.off)} {s.offText}
                  </text>
                </ToPage>
              </>
            )}
          </g>
        ))}
        <text className="mu" x="790" y="71" textAnchor="middle">
          {t.newChanged(sum.new, sum.changed + sum.back)}
        </text>
        <text className="lb" x="1090" y="15" textAnchor="middle">
          <tspan className="ct">{t.published}</tspan>
        </text>
        <circle cx="1090" cy="31" r="7" fill="var(--verdg)" stroke="var(--ink)" strokeWidth="2.6" />
        <text className="ct" x="1090" y="56" textAnchor="middle">
          {n(sum.new + sum.changed + sum.back)}
        </text>
        {sum.p50_ms > 0 && (
          <text className="mu" x="1090" y="71" textAnchor="middle">
            {t.afterPage(duration(sum.p50_ms / 1000, language))}
          </text>
        )}
      </svg>
    </div>
  )
}
