import { Navigate } from '@tanstack/react-router'
import { memo, useEffect, useState, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { useFlow, usePlatforms, useReasonsOf, useRecent, useReport, useSession, type Window } from '../api/queries'
import { count, duration, longDay, named } from '../say/format'
import { useSay, type Sentences } from '../say/Say'
import { useNow } from '../ui/Age'
import { useFilters } from '../ui/Filter'
import { Empty, Section, Trouble } from '../ui/parts'
import { PlatformLine } from '../ui/PlatformLine'
import { ToPage } from '../ui/ToPage'
import { Reading } from '../ui/Unread'
import { queuesOf, Waiting } from '../ui/Waiting'
import { Warnings } from '../ui/Warnings'
import { JustIn } from './JustIn'
import { Lines } from './Lines'
import { Stations } from './Stations'
import './today.css'

/** Today is the first page. A key of a tenant may read none of it: its first page is that of the tenant's files. */
export function Today() {
  return useSession().data?.caller?.tenant ? <Navigate to={'/uploads' as '/'} replace /> : <House />
}

/** House is what is true now, in a sentence, then what needs a person, then figures. Each part is drawn when it changes. */
function House() {
  const { say } = useSay()
  const [filters, change] = useFilters()
  const window = (['24h', '7d'].includes(filters.window ?? '') ? filters.window : '1h') as Window
  const report = useReport()
  const settled = useSettled([report, usePlatforms(), useFlow(window), useReasonsOf(window), useRecent()])
  if (!settled) return <Reading />
  return (
    <>
      <Trouble error={report.error} again={() => void report.refetch()} />
      <div className="hero">
        <div>
          <p className="when">
            <Day />{' '}
            <span className="seg">
              {(['1h', '24h', '7d'] as const).map((w) => (
                <button key={w} aria-pressed={w === window} onClick={() => change({ window: w === '1h' ? '' : w })}>
                  {say.today.windows[w]}
                </button>
              ))}
            </span>
          </p>
          <h1 className="aside">{say.nav.today}</h1>
          <Sentence window={window} />
        </div>
        <Needs />
      </div>
      <Pipeline window={window} />
      <div className="two">
        <Waits />
        <div>
          <Scrapers />
          <Refusals window={window} />
        </div>
      </div>
      <JustIn />
    </>
  )
}

function Day() {
  const { language, zone } = useSay()
  return <>{longDay(new Date(useNow(60_000)), zone, language)}</>
}

function Sentence({ window }: { window: Window }) {
  const { say, language } = useSay()
  const report = useReport(statedOf).data
  const flow = useFlow(window)
  return (
    <>
      <Trouble error={flow.error} />
      {report && flow.data && <p className="say">{sentence(report, flow.data.listings, window, say, language)}</p>}
    </>
  )
}

const concernsOf = (r: Schemas['Report']) => r.concerns

function Needs() {
  const { say } = useSay()
  const concerns = useReport(concernsOf).data
  if (!concerns) return null
  return (
    <Section title={say.today.needs} note={concerns.length} go={<ToPage to="/queues">{say.today.allWarnings}</ToPage>}>
      <Warnings concerns={concerns} most={4} />
    </Section>
  )
}

function Pipeline({ window }: { window: Window }) {
  const { say } = useSay()
  const flow = useFlow(window).data
  if (!flow) return null
  return (
    <Section title={say.today.lines.title} note={say.today.lines.note(say.today.windows[window])}>
      <Lines flow={flow} />
      <Stations flow={flow} />
    </Section>
  )
}

function Waits() {
  const { say, language } = useSay()
  const report = useReport().data
  if (!report) return null
  return (
    <Section
      title={say.today.waits}
      note={say.today.waitsNote}
      go={<ToPage to="/queues">{say.allOf(count(queuesOf(report), language))}</ToPage>}
      wide
    >
      <Waiting report={report} most={7} />
    </Section>
  )
}

function Scrapers() {
  const { say } = useSay()
  const platforms = usePlatforms()
  const scraped = platforms.data?.items.filter((p) => p.state !== 'disabled') ?? []
  return (
    <Section title={say.today.platforms} note={say.today.platformsNote}>
      <Trouble error={platforms.error} />
      {platforms.data && scraped.length === 0 && <Empty>{say.platform.never}</Empty>}
      {scraped.map((p) => (
        <PlatformLine key={p.name} platform={p} />
      ))}
    </Section>
  )
}

function Refusals({ window }: { window: Window }) {
  const { say, language } = useSay()
  const flow = useFlow(window).data
  const reasons = useReasonsOf(window)
  return (
    <Section
      title={say.today.refused}
      note={flow && say.today.refusedNote(count(flow.listings.refused, language), say.today.windows[window])}
      go={<ToPage to="/refused">{say.all}</ToPage>}
    >
      <Trouble error={reasons.error} />
      <Why counts={reasons.data?.counts ?? none} since={reasons.data?.since} />
    </Section>
  )
}

const none: Schemas['ReasonCount'][] = []

const patience = 2000 // ms: a service that is away must not keep the rest from view

/** useSettled reports whether every answer is there. Parts that came one by one would push each other down the page. */
function useSettled(queries: { isPending: boolean }[]) {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patience)
    return () => clearTimeout(timer)
  }, [])
  return late || queries.every((q) => !q.isPending)
}

/** statedOf is what the sentence says of what waits. oldest: seconds. */
const statedOf = (r: Schemas['Report']) => ({
  oldest: Math.max(0, ...r.task_queues.map((q) => (q.backlog > 0 ? q.oldest_age_seconds : 0))),
  crawls: r.crawls.running,
  uploads: r.imports.uploads,
})

/** sentence says what is true, in words: each figure is one that a page shows. */
function sentence(
  r: ReturnType<typeof statedOf>,
  flow: Schemas['FlowSum'],
  window: Window,
  say: Sentences,
  language: 'en' | 'fr',
): ReactNode {
  const t = say.today.sentence
  const n = (v: number) => count(v, language)
  const parts: ReactNode[] = []
  if (flow.in === 0) parts.push(t.nothingIn(say.today.windows[window]) + ' ')
  else {
    parts.push(<b>{t.adverts(flow.in, n(flow.in))}</b>, ` ${t.cameIn} `)
    if (flow.unchanged > 0) parts.push(t.unchanged(flow.unchanged, n(flow.unchanged)) + ' ')
    const rest: ReactNode[] = []
    if (flow.new > 0) rest.push(<b>{t.new(flow.new, n(flow.new))}</b>)
    if (flow.changed + flow.back > 0) rest.push(t.changed(flow.changed + flow.back, n(flow.changed + flow.back)))
    if (flow.twins > 0) rest.push(t.twins(flow.twins, n(flow.twins)))
    if (flow.withheld > 0) rest.push(t.withheld(flow.withheld, n(flow.withheld)))
    if (flow.refused > 0) rest.push(<span className="verm">{t.refused(flow.refused, n(flow.refused))}</span>)
    rest.forEach((one, i) =>
      parts.push(one, i === rest.length - 1 ? '. ' : i === rest.length - 2 ? ` ${t.and} ` : ', '),
    )
  }
  if (flow.new + flow.changed + flow.back > 0 && flow.p50_ms > 0)
    parts.push(t.published, <b>{duration(flow.p50_ms / 1000, language)}</b>, t.afterPage + ' ')
  if (r.crawls + r.uploads > 0) parts.push(t.underWay(r.crawls, r.uploads) + ' ')
  parts.push(r.oldest > 1 ? t.oldest(duration(r.oldest, language)) : t.idle)
  return parts.map((p, i) => <span key={i}>{p}</span>)
}

/** Why shows the reasons of refusals, the most frequent first. */
const Why = memo(function Why({ counts, since }: { counts: Schemas['ReasonCount'][]; since: string | undefined }) {
  const { say, language } = useSay()
  const sums = new Map<string, number>()
  for (const c of counts) sums.set(c.code, (sums.get(c.code) ?? 0) + c.adverts)
  const rows = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 8)
  if (rows.length === 0) return <Empty>{say.refused.noReasons}</Empty>
  return (
    <table className="why">
      <tbody>
        {rows.map(([code, n]) => (
          <tr key={code}>
            <td>
              <ToPage to="/refused" search={{ reason: code, since }}>
                {named(say.code.reason, code)}
              </ToPage>
            </td>
            <td className="b">
              <i style={{ width: `${(100 * n) / rows[0]![1]}%` }} />
            </td>
            <td className="r">{count(n, language)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
})
