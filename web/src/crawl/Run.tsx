import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { orderRun, useBrokenLinks, useRun, useRunURL, useWhy } from '../api/crawl'
import { useDo } from '../api/queries'
import { Lineage } from '../lineage/Lineage'
import { bytes, count, decimal, duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age, At } from '../ui/Age'
import { Confirm } from '../ui/Ask'
import { Do } from '../ui/Do'
import { useFilters } from '../ui/Filter'
import { Glyph } from '../ui/Glyph'
import { Crumb, Empty, Head, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import { Chosen } from './Chosen'
import { Rate } from './Rate'
import { looks, pathOf, statuses } from './states'
import { URLs } from './URLs'
import './crawl.css'

/** Run is one crawl: its counters, its lineage, what keeps it from finishing, its URLs and its broken links. */
export function Run() {
  const { say, language } = useSay()
  const t = say.run
  const id = Number((useParams({ strict: false }) as { id: string }).id)
  const run = useRun(id)
  const order = useDo(orderRun, 'run', 'runs')
  const [stopping, stop] = useState(false)
  const [filters, change] = useFilters()
  const chosen = Number(filters.url) || 0
  const url = useRunURL(id, chosen)
  const r = run.data
  if (!r) return <Unread of={run} title={String(id)} crumbs={<Crumb to="/crawl">{t.title}</Crumb>} />
  const open = r.status === 'RUNNING' || r.status === 'PAUSED'
  const wanted = filters.status ? filters.status.split(',') : []
  const done = r.totals.discovered - r.totals.queued - r.totals.in_progress
  const linked = filters.links === 'all' && url.data ? [...url.data.links_in, ...url.data.links_out] : []
  const c = r.run_config
  return (
    <>
      <Head
        crumbs={
          <>
            <Crumb to="/crawl">{t.title}</Crumb> {r.id}{' '}
            <span className={`tag ${tags[r.status]}`}>{t.states[r.status]}</span>{' '}
            <span>
              {t.since} <Age at={r.started_at} /> · {t.by(r.created_by)}
            </span>
          </>
        }
        title={<span className="m">{r.seed_url}</span>}
        actions={
          <>
            <ToPage
              className="btn"
              to="/crawl/compare"
              search={r.base_run_id ? { a: String(r.base_run_id), b: String(id) } : { b: String(id) }}
            >
              {t.compare}
            </ToPage>
            <Exports id={id} bodies={c.storeBodies} />
            <InTemporal workflow={r.workflow} />
            {open && (
              <Do disabled={order.isPending} onClick={() => stop(true)}>
                {say.stop} …
              </Do>
            )}
            {r.status === 'RUNNING' && (
              <Do className="btn p" disabled={order.isPending} onClick={() => order.mutate({ id, order: 'pause' })}>
                {say.pause}
              </Do>
            )}
            {r.status === 'PAUSED' && (
              <Do className="btn p" disabled={order.isPending} onClick={() => order.mutate({ id, order: 'resume' })}>
                {say.resume}
              </Do>
            )}
          </>
        }
      >
        <p className="words">
          <span>{t.scope[c.scopeMode]?.((r.allowed_hosts[0] ?? '') + (r.prefix ?? ''))}</span>
          <span>{t.upTo(c.maxPages, count(c.maxDepth, language))}</span>
          <span>{t.robots(c.respectRobots)}</span>
          <span>{t.redirects(c.followRedirects)}</span>
          <span>{t.bodies(c.storeBodies)}</span>
        </p>
        {r.warning && <p className="ochr">{r.warning}</p>}
        {r.no_page && <p className="ochr">{r.no_page}</p>}
      </Head>
      {stopping && (
        <Confirm title={t.stopRun} onYes={() => order.mutate({ id, order: 'cancel' })} onClose={() => stop(false)}>
          <h2>{t.stopAsk(id)}</h2>
          <p>{t.stopNote(count(r.totals.queued, language))}</p>
        </Confirm>
      )}
      <Trouble error={order.error} />
      <div className="stack" aria-hidden="true">
        {statuses
          .filter((s) => r.totals[looks[s].counter] > 0)
          .map((s) => (
            <i key={s} style={{ flexGrow: r.totals[looks[s].counter], background: looks[s].colour }} />
          ))}
      </div>
      <div className="cnt">
        {statuses.map((s) => (
          <button
            key={s}
            aria-pressed={wanted.includes(s)}
            className={r.totals[looks[s].counter] === 0 ? 'none' : undefined}
            onClick={() => change({ status: wanted.length === 1 && wanted[0] === s ? '' : s })}
          >
            <b>{count(r.totals[looks[s].counter], language)}</b>
            <span>
              <Glyph state={looks[s].glyph} />
              {t.counters[looks[s].counter](r.totals[looks[s].counter])}
            </span>
          </button>
        ))}
        <div className="eta">
          <b>
            {r.seconds_left !== undefined && open ? t.left(duration(r.seconds_left, language)) : t.states[r.status]}
          </b>
          <span>
            {t.known(r.totals.discovered, decimal((100 * done) / Math.max(1, r.totals.discovered), language))}
          </span>
          <span>{t.pace(decimal(r.pace.pages_per_second, language), bytes(r.pace.bytes_per_second, language))}</span>
        </div>
      </div>
      <div className="graph">
        <Lineage
          run={id}
          seq={r.seq}
          states={wanted}
          words={filters.q ?? ''}
          chosen={chosen}
          links={linked.map((l) => l.id)}
          onChoose={(one) => change({ url: one ? String(one) : '' })}
          onWords={(q) => change({ q })}
          table="urls"
          tools={
            <div className="seg">
              <button aria-pressed={filters.links !== 'all'} onClick={() => change({ links: '' })}>
                {t.graph.lineage}
              </button>
              <button aria-pressed={filters.links === 'all'} onClick={() => change({ links: 'all' })}>
                {t.graph.allLinks}
              </button>
            </div>
          }
        />
        <Chosen run={r} url={chosen} answer={url} onChoose={(one) => change({ url: one ? String(one) : '' })} />
      </div>
      <div className="two half">
        <Why id={id} />
        <Rate run={r} />
      </div>
      <URLs run={r} />
      <Broken id={id} onChoose={(one) => change({ url: String(one) })} />
    </>
  )
}

const tags: Record<string, string> = { RUNNING: 'v', PAUSED: 'o', CANCELLED: 'x', COMPLETED: '' }

function Exports({ id, bodies }: { id: number; bodies: boolean }) {
  const t = useSay().say.run
  const formats = ['csv', 'ndjson', 'json', ...(bodies ? ['warc'] : [])]
  return (
    <details className="exports">
      <summary className="btn">{t.export}</summary>
      <div>
        {formats.map((f) => (
          <a key={f} href={`/crawl-runs/${id}/export?limit=0&format=${f}`} download>
            {t.exports(f.toUpperCase())}
          </a>
        ))}
        <a href={`/crawl-runs/${id}/broken-links?format=csv`} download>
          {t.exportBroken}
        </a>
      </div>
    </details>
  )
}

function Why({ id }: { id: number }) {
  const { say, language } = useSay()
  const t = say.run
  const why = useWhy(id)
  const w = why.data
  const until = (at: string | null) => duration(at ? (Date.parse(at) - Date.parse(w!.at)) / 1000 : 0, language)
  const lines: [n: number | undefined, text: string][] = []
  if (w && !w.finished) {
    if (w.status === 'PAUSED') lines.push([undefined, t.because.paused])
    if (w.leases.count > 0) {
      const oldest = w.leases.oldest_at ? (Date.parse(w.at) - Date.parse(w.leases.oldest_at)) / 1000 : 0
      lines.push([w.leases.count, t.because.fetching(w.leases.count, duration(oldest, language))])
    }
    for (const h of w.hosts) {
      if (h.ready > 0) lines.push([h.ready, t.because.ready(h.ready, h.host)])
      const by = t.because.heldBy[h.held_by ?? 'gap'] ?? ''
      if (h.held > 0) lines.push([h.held, t.because.held(h.held, h.host, until(h.held_until), by)])
      if (h.again > 0) lines.push([h.again, t.because.again(h.again, h.host, until(h.next_due))])
    }
    if (w.hosts_total > w.hosts.length) lines.push([w.hosts_total - w.hosts.length, t.because.hosts])
    if (w.spreading > 0) lines.push([w.spreading, t.because.spreading(w.spreading)])
    if (lines.length === 0) lines.push([undefined, t.because.empty(w.stable_empty.seen, w.stable_empty.needed)])
  }
  for (const [reason, n] of Object.entries(w?.skipped ?? {}))
    if (n > 0) lines.push([n, t.because.skipped[reason]?.(n) ?? reason])
  if (w && w.dropped > 0) lines.push([w.dropped, t.because.dropped(w.dropped)])
  return (
    <Section title={w?.finished ? t.whyDone : t.why} note={w && !w.finished && t.because.note(w.stable_empty.needed)}>
      <Trouble error={why.error} />
      <ul className="because">
        {w?.finished && (
          <li>
            {t.ended[w.status]} {w.finished_at && <At at={w.finished_at} />}
          </li>
        )}
        {lines.map(([n, text]) => (
          <li key={text}>
            {n !== undefined && <b>{count(n, language)}</b>} {text}
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Broken({ id, onChoose }: { id: number; onChoose: (url: number) => void }) {
  const { say, language } = useSay()
  const t = say.run
  const broken = useBrokenLinks(id)
  const b = broken.data
  return (
    <Section
      title={t.broken}
      note={b && count(b.total, language)}
      go={
        b && b.total > 0 ? (
          <a href={`/crawl-runs/${id}/broken-links?format=csv`} download>
            {t.exportBroken}
          </a>
        ) : undefined
      }
    >
      <Trouble error={broken.error} />
      {b?.items.length === 0 && <Empty>{t.noBroken}</Empty>}
      {b?.items.map((one) => (
        <div key={one.id} className="broken">
          <Glyph state="failed" />
          <button className="word m" onClick={() => onChoose(one.id)}>
            {pathOf(one.normalized_url)}
          </button>{' '}
          <span className="tag x">{one.http_status ?? named(say.code.fault, one.error_class ?? '')}</span>{' '}
          <Out href={one.normalized_url} />
          <Linked pages={one.linked_from.slice(0, 3)} total={one.linked_from_total} onChoose={onChoose} />
        </div>
      ))}
      {b && b.total > b.items.length && (
        <p className="more mu">{t.brokenMore(count(b.total - b.items.length, language))}</p>
      )}
    </Section>
  )
}

function Linked(p: { pages: Schemas['CrawlPage'][]; total: number; onChoose: (url: number) => void }) {
  const { say, language } = useSay()
  if (p.pages.length === 0) return <p className="mu">{say.run.linkedNowhere}</p>
  return (
    <p className="mu">
      {say.run.linkedFrom}{' '}
      {p.pages.map((page, i) => (
        <span key={page.id}>
          {i > 0 && ', '}
          <button className="word s" title={page.normalized_url} onClick={() => p.onChoose(page.id)}>
            {page.title || pathOf(page.normalized_url)}
          </button>
        </span>
      ))}
      {p.total > p.pages.length && <> {say.run.andMore(count(p.total - p.pages.length, language))}</>}
    </p>
  )
}
