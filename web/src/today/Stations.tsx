import { memo, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { whereTo, type Target } from './where'
import { ToPage } from '../ui/ToPage'

type Line = Schemas['FlowLine']
type Station = Schemas['FlowStation']

/** Stations draws the lines of crawls, drafts and outreach: what waits and passed at each station, what fell off. */
export function Stations({ flow }: { flow: Schemas['FlowReport'] }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={useSay().say.today.lines.others}>
      {flow.lines.slice(1).map((line) => (
        <Row key={line.line} line={line} since={flow.since} />
      ))}
    </div>
  )
}

const Row = memo(function Row({ line, since }: { line: Line; since: string }) {
  const { say, language } = useSay()
  const t = say.today.lines
  const n = (v: number) => count(v, language)
  const note =
    line.line === 'crawl'
      ? line.runs?.length
        ? t.runs(line.runs.length, line.runs.map(String).join(', '))
        : ''
      : line.line === 'outreach'
        ? t.tenants(line.tenants ?? 0, n(line.tenants ?? 0))
        : ''
  return (
    <div className="line">
      <div>
        <b>{t.names[line.line]}</b>
        <span className="mu">{note}</span>
      </div>
      <ol>
        {line.stations.map((s) => (
          <li key={s.station}>
            <span className="at">
              <To to={whereTo(line, s.station, since)}>{s.n === undefined ? '–' : n(s.n)}</To>
              {s.out.map((o) => (
                <To key={o.outcome} to={whereTo(line, o.outcome, since)}>
                  <span className="off">
                    <i aria-hidden="true" /> {n(o.n)} {t.off[o.outcome] ?? o.outcome}
                  </span>
                </To>
              ))}
            </span>
            <i className={'dot ' + look(s)} aria-hidden="true" />
            <span className="lb">{t.stations[s.station] ?? s.station}</span>
          </li>
        ))}
      </ol>
    </div>
  )
})

/** look is how a station is drawn: what waits is ochre, what is being done or is done is filled. */
function look(s: Station) {
  if (s.station === 'crawler_queue') return s.n ? 'change waits' : 'change'
  if (!s.n) return ''
  if (['frontier', 'waiting', 'scheduled'].includes(s.station)) return 'waits'
  return ['fetching', 'chromium', 'searchable', 'draft_stored', 'valid', 'dispatched', 'read'].includes(s.station) &&
    (s.station !== 'read' || !s.out.length)
    ? 'done'
    : ''
}

function To({ to, children }: { to: Target | undefined; children: ReactNode }) {
  if (!to) return <>{children}</>
  return (
    <ToPage to={to.to} search={to.search ?? {}}>
      {children}
    </ToPage>
  )
}
