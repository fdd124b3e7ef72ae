import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { setPlatform, useCycles, useDo, usePlatform, usePlatforms } from '../api/queries'
import { count, duration } from '../say/format'
import { useSay } from '../say/Say'
import { Age, At } from '../ui/Age'
import { Crumb, Empty, Head, Heads, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { Glyph } from '../ui/Glyph'
import { CycleNums, expectedPages, PlatformLine, Ticks } from '../ui/PlatformLine'
import { Do } from '../ui/Do'
import { Confirm } from '../ui/Ask'
import { Reading, Unread } from '../ui/Unread'
import { Searches } from './PlatformSearches'
import { Settings } from './PlatformSettings'
import './listings.css'

/** Platforms are the scraped sites, those that are named first. */
export function Platforms() {
  const { say } = useSay()
  const platforms = usePlatforms()
  const on = platforms.data?.items.filter((p) => p.state !== 'disabled') ?? []
  const off = platforms.data?.items.filter((p) => p.state === 'disabled') ?? []
  return (
    <>
      <Head title={say.platform.title}>
        <p>{say.platform.intro}</p>
      </Head>
      <Trouble error={platforms.error} again={() => void platforms.refetch()} />
      {platforms.isLoading && <Reading />}
      {platforms.data && on.length === 0 && <Empty>{say.platform.never}</Empty>}
      {on.map((p) => (
        <PlatformLine key={p.name} platform={p} />
      ))}
      {off.length > 0 && (
        <Section title={say.platform.disabled} note={off.length}>
          {off.map((p) => (
            <PlatformLine key={p.name} platform={p} />
          ))}
        </Section>
      )}
    </>
  )
}

/** Platform is one of them: its cycles, its freshness, its pace. */
export function Platform() {
  const { say, language } = useSay()
  const t = say.platform
  const { name } = useParams({ strict: false }) as { name: string }
  const platform = usePlatform(name)
  const p = platform.data
  if (!p) return <Unread of={platform} title={name} crumbs={<Crumb to="/platforms">{t.title}</Crumb>} />
  return (
    <>
      <Head
        crumbs={<Crumb to="/platforms">{t.title}</Crumb>}
        title={p.name}
        actions={<InTemporal workflow={p.workflow} button />}
      >
        <p>
          <Out href={p.url} /> · {t.transports[p.transport]}
          {p.unproven && (
            <>
              {' '}
              · <span className="ochr">{t.unproven}:</span> <span lang="en">{p.unproven}</span>
            </>
          )}
        </p>
      </Head>
      <PlatformLine platform={p} />
      {p.state === 'disabled' && <Enable platform={p} />}
      <Troubles platform={p} />
      <br />
      <div className="two half">
        <Section title={t.adverts}>
          <dl className="kv">
            <dt>{t.known}</dt>
            <dd>{count(p.adverts.known, language)}</dd>
            <dt>{t.gone}</dt>
            <dd>{count(p.adverts.gone, language)}</dd>
            <dt>{t.failed}</dt>
            <dd>{count(p.adverts.failed, language)}</dd>
          </dl>
        </Section>
        <Section title={t.freshness}>
          <dl className="kv">
            <dt>{t.oldestVisit}</dt>
            <dd>
              <Age at={p.oldest_visit_at} />
            </dd>
            {p.forecast && (
              <>
                <dt>{t.predictedCycle}</dt>
                <dd>{duration(p.forecast.cycle_seconds, language)}</dd>
                <dt>{t.requestsPerDay}</dt>
                <dd>{count(p.forecast.requests_per_day, language)}</dd>
              </>
            )}
          </dl>
        </Section>
        <Cycle title={t.cycle} cycle={p.current_cycle} expected={expectedPages(p)} current />
        <Cycle title={t.lastCycle} cycle={p.last_cycle} expected={p.last_cycle?.pages ?? 0} />
      </div>
      <Searches platform={p} />
      <Section title={t.settings}>
        <Settings key={JSON.stringify([p.settings, p.transport])} platform={p} />
      </Section>
      <Cycles name={p.name} />
    </>
  )
}

/** Troubles are what keeps a site from being scraped, and what is odd about its pages. */
function Troubles({ platform: p }: { platform: Schemas['Platform'] }) {
  const { say } = useSay()
  const t = say.platform
  const list = [
    p.blocked && { what: t.state.blocked, why: t.blockedBy(p.blocked.reason, p.blocked.refusals), at: p.blocked.until },
    p.suspect && { what: t.state.suspect, why: p.suspect.reason, at: p.suspect.since },
    p.trouble && { what: t.noAnswer, why: p.trouble.reason, at: p.trouble.since },
  ].filter((one) => !!one)
  if (list.length === 0) return null
  return (
    <ul className="todo troubles">
      {list.map((one) => (
        <li key={one.what}>
          <Glyph state="look" />
          <p>
            <b>{one.what}</b>: {one.why}
          </p>
          <span className="mu">
            <Age at={one.at} />
          </span>
        </li>
      ))}
    </ul>
  )
}

/** Enable begins to scrape a site, after what is unproven about its parser was shown. */
function Enable({ platform: p }: { platform: Schemas['Platform'] }) {
  const { say } = useSay()
  const t = say.platform
  const set = useDo(setPlatform, 'platforms', 'queues')
  const [asking, setAsking] = useState(false)
  return (
    <p>
      <Trouble error={set.error} />
      <Do onClick={() => setAsking(true)}>{t.enable} …</Do>
      {asking && (
        <Confirm
          title={t.enable}
          onYes={() => set.mutate({ name: p.name, patch: { enabled: true } })}
          onClose={() => setAsking(false)}
        >
          <h2>{t.enableAsk(p.name)}</h2>
          {p.unproven && (
            <p>
              <b>{t.unproven}:</b> {p.unproven}
            </p>
          )}
        </Confirm>
      )}
    </p>
  )
}

function Cycle({
  title,
  cycle: c,
  expected,
  current = false,
}: {
  title: string
  cycle: Schemas['PlatformCycle'] | undefined
  expected: number // search pages, as far as known
  current?: boolean // under way
}) {
  const { say } = useSay()
  const t = say.platform
  return (
    <Section title={title} note={c && <Age at={c.started_at} />}>
      {!c && <Empty>{current ? t.betweenCycles : t.noCycle}</Empty>}
      {c && (
        <>
          <CycleNums cycle={c} />
          <Ticks done={c.pages} of={expected} current={current} />
          <p className="mu">
            {t.page(c.pages, expected > c.pages ? String(expected) : '')}
            {c.note && `; ${c.note}`}
          </p>
        </>
      )}
    </Section>
  )
}

/** Cycles is the history of a platform's cycles, the newest first. */
function Cycles({ name }: { name: string }) {
  const { say, language } = useSay()
  const t = say.platform
  const cycles = useCycles(name)
  const rows = cycles.data?.pages.flatMap((one) => one.items) ?? []
  const n = (v: number) => count(v, language)
  return (
    <Section title={t.history} note={rows.length || undefined} wide>
      <Trouble error={cycles.error} />
      {cycles.data && rows.length === 0 && <Empty>{t.noCycle}</Empty>}
      {rows.length > 0 && (
        <table>
          <Heads
            of={[
              say.replay.started,
              [t.took, 'r'],
              [t.pages, 'r'],
              [t.nums.new(2), 'r'],
              [t.nums.changed(2), 'r'],
              [t.nums.skipped(2), 'r'],
              [t.nums.gone(2), 'r'],
              [t.nums.blocks(2), 'r'],
              [t.note, 'gap'],
            ]}
          />
          <tbody>
            {rows.map((c) => (
              <tr key={c.cycle}>
                <td>
                  <Glyph state={!c.ended_at ? 'changed' : c.complete ? 'done' : 'look'} />
                  <At at={c.started_at} />
                </td>
                <td className="r">
                  {c.ended_at ? duration((Date.parse(c.ended_at) - Date.parse(c.started_at)) / 1000, language) : '–'}
                </td>
                {[c.pages, c.new, c.changed, c.skipped, c.gone, c.refusals].map((v, i) => (
                  <td key={i} className="r">
                    {n(v)}
                  </td>
                ))}
                <td className="gap wrap mu">{c.note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {cycles.hasNextPage && (
        <p className="more">
          <button className="btn" disabled={cycles.isFetchingNextPage} onClick={() => void cycles.fetchNextPage()}>
            {say.more}
          </button>
        </p>
      )}
    </Section>
  )
}
