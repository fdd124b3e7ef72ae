import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useRef } from 'react'

import type { Schemas } from '../api/client'
import { urlChunk, useRunURLs } from '../api/crawl'
import { bytes, count, named } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Glyph } from '../ui/Glyph'
import { Heads, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { broken, looks, pathOf, statuses } from './states'

const rowHeight = 27
const mostRows = 1_000_000 // a browser's longest scroll is some 30 million pixels

/**
 * URLs is the table of a run's URLs. It scrolls freely: the rows of a place are read by their offset when it is reached,
 * and only those near the window are in the document.
 */
export function URLs({ run }: { run: Schemas['CrawlSummary'] }) {
  const { say, language } = useSay()
  const t = say.run
  const [filters, change] = useFilters()
  const scroll = useRef<HTMLDivElement>(null)
  const { status = '', host = '', q = '' } = filters
  const n = run.totals
  const tabs: [label: string, status: string, n: number][] = [
    [t.tabs.all, '', n.discovered],
    [t.tabs.open, 'QUEUED,IN_PROGRESS', n.queued + n.in_progress],
    [t.tabs.broken, broken.join(), n.not_found + n.forbidden + n.http_terminal + n.failed],
    [t.tabs.redirects, 'REDIRECT_301', n.redirect_301],
    [t.tabs.skipped, 'SKIPPED', n.skipped],
  ]
  const known = !host && !q ? status.split(',').reduce((sum, s) => sum + counted(n, s), 0) : undefined
  const live = run.status === 'RUNNING'

  // How many rows there are is known from the totals, or from the first answer; the window needs it before.
  const first = useRunURLs(run.id, { status, host, q }, [0], live)
  const total = Math.min(mostRows, first.total ?? known ?? 0)
  const window = useVirtualizer({
    count: total,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  })
  const shown = window.getVirtualItems()
  const from = Math.floor((shown[0]?.index ?? 0) / urlChunk)
  const to = Math.floor((shown.at(-1)?.index ?? 0) / urlChunk)
  const here = useRunURLs(run.id, { status, host, q }, from === to ? [from] : [from, to], live)
  const fields: Field[] = [
    { name: 'q', label: t.words },
    { name: 'host', label: t.host },
  ]
  const chosen = Number(filters.url)
  const before = shown[0]?.start ?? 0
  const after = window.getTotalSize() - (shown.at(-1)?.end ?? 0)
  return (
    <Section
      title={t.urls}
      note={
        <span className="tabs">
          {tabs.map(([label, s, m]) => (
            <button key={s} aria-pressed={s === status} onClick={() => change({ status: s })}>
              {label} {count(m, language)}
            </button>
          ))}
        </span>
      }
    >
      <FilterBar fields={fields} also={['status', 'url', 'links']} />
      <Trouble error={first.error ?? here.error} again={first.again} />
      {first.total === 0 && <Nothing fields={[...fields, { name: 'status', label: t.status }]} never={t.never} />}
      <div
        ref={scroll}
        id="urls"
        className="rows"
        role="region"
        aria-label={t.urls}
        tabIndex={0}
        hidden={total === 0}
        data-rows={total}
      >
        <table aria-rowcount={total + 1} className="urls">
          <Heads
            of={[
              t.status,
              [t.url, 'cut'],
              [t.title_, 'cut'],
              [t.firstFound, 'cut'],
              [t.code, 'r'],
              [t.took, 'r'],
              [t.size, 'r'],
              [t.depth, 'r'],
              [t.when, 'r'],
            ]}
          />
          <tbody>
            {before > 0 && <Gap height={before} />}
            {shown.map((v) => {
              const u = here.row(v.index)
              return <Row key={v.index} at={v.index} u={u} chosen={u?.id === chosen} />
            })}
            {after > 0 && <Gap height={after} />}
          </tbody>
        </table>
      </div>
      {total > 0 && (
        <p className="more mu">
          {first.exact === false
            ? t.atLeast(count(total, language))
            : total === mostRows
              ? t.mostRows(count(total, language))
              : say.rows(total, count(total, language))}{' '}
          <button className="btn q" onClick={() => window.scrollToIndex(total - 1)}>
            {t.toEnd}
          </button>
        </p>
      )}
    </Section>
  )
}

/** counted is how many URLs of a run are in a state; "" = all. */
const counted = (n: Schemas['CrawlTotals'], status: string) =>
  status === '' ? n.discovered : (n[looks[status as (typeof statuses)[number]]?.counter] ?? 0)

/** Row is one of them. With each step of scrolling only those that come into view are made. */
const Row = memo(function Row({ u, at, chosen }: { u: Schemas['CrawlURL'] | undefined; at: number; chosen: boolean }) {
  const { say, language } = useSay()
  if (!u)
    return (
      <tr aria-rowindex={at + 2} aria-busy="true" style={{ height: rowHeight }}>
        <td colSpan={9} />
      </tr>
    )
  return (
    <tr aria-rowindex={at + 2} aria-current={chosen || undefined} style={{ height: rowHeight }}>
      <td className="n">
        <Glyph state={looks[u.status].glyph} />
        {named(say.code.url, u.status)}
      </td>
      <td className="cut">
        <To id={u.id} url={u.normalized_url} />
      </td>
      <td className="cut">
        <span className="s">{u.title ?? u.error ?? (u.reason ? (say.run.reasons[u.reason] ?? u.reason) : '')}</span>
      </td>
      <td className="cut mu">
        {u.discovered_from_url_id != null && u.discovered_from_url ? (
          <To id={u.discovered_from_url_id} url={u.discovered_from_url} />
        ) : (
          '–'
        )}
      </td>
      <td className="r">{u.http_status ?? '–'}</td>
      <td className="r">{u.took_ms != null ? count(u.took_ms, language) : '–'}</td>
      <td className="r">{u.content_length != null ? bytes(u.content_length, language) : '–'}</td>
      <td className="r">{u.depth}</td>
      <td className="r">{u.visited_at ? <At at={u.visited_at} /> : u.due_at ? <At at={u.due_at} /> : '–'}</td>
    </tr>
  )
})

/** To chooses a URL of the run. */
function To({ id, url }: { id: number; url: string }) {
  return (
    <ToPage
      className="m"
      to="."
      search={(was) => ({ ...was, url: String(id) })}
      resetScroll={false}
      replace
      title={url}
    >
      {pathOf(url)}
    </ToPage>
  )
}

function Gap({ height }: { height: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={9} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}
