import { useState } from 'react'

import type { Schemas } from '../api/client'
import { processListing, useAdverts, useDo, usePlatforms, useReasons, type Filters } from '../api/queries'
import { count, day as dayOf, moment, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { anyOf, FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Glyph } from '../ui/Glyph'
import { Empty, Head, InTemporal, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import './listings.css'
import { ProcessRefused } from './ProcessRefused'

const days = 14

/** Refused are the adverts that are no listings, each with every reason. */
export function Refused() {
  const { say, language, zone } = useSay()
  const t = say.refused
  const [filters] = useFilters()
  const since = new Date(filters.since ?? '')
  const adverts = useAdverts(filters)
  const reasons = useReasons(days, filters.platform)
  const platforms = usePlatforms().data?.items ?? []
  const again = useDo(processListing, 'adverts', 'reasons')
  const [bulk, setBulk] = useState<{ which: 'all' | Schemas['AdvertSummary'][]; onDone?: () => void }>()
  const [replay, setReplay] = useState<string>()
  const codes = [...new Set(reasons.data?.counts.map((c) => c.code))].sort()
  const fields: Field[] = [
    { name: 'text', label: t.text },
    anyOf('status', t.status, t.statuses, 'rejected'),
    {
      name: 'reason',
      label: t.reason,
      several: true,
      options: codes.map((value) => ({ value, label: named(say.code.reason, value) })),
    },
    {
      name: 'platform',
      label: say.listing.platform,
      several: true,
      options: platforms.map((p) => ({ value: p.name, label: p.name })),
    },
    // Comes with a figure of a window of time.
    { name: 'since', label: t.readSince(isNaN(+since) ? filters.since! : moment(since, zone, language)), kind: 'set' },
  ]
  return (
    <>
      <Head title={t.title} actions={<Do onClick={() => setBulk({ which: 'all' })}>{t.processAll}</Do>}>
        <p>{t.intro}</p>
      </Head>
      <Section title={t.byDay} note={t.days(days)}>
        <Trouble error={reasons.error} />
        {reasons.data && <Days counts={reasons.data.counts} platform={filters.platform} />}
      </Section>
      <FilterBar fields={fields} />
      <Trouble error={again.error} />
      <Rows
        label={t.title}
        className="refused"
        pages={adverts}
        id={(a) => a.listing_id}
        empty={<Nothing fields={fields} never={t.never} />}
        choose={{
          name: (a) => a.title || a.platform_id,
          actions: (which, onDone) => <Do onClick={() => setBulk({ which, onDone })}>{t.processAgain} …</Do>,
        }}
        columns={[
          {
            name: 'title',
            head: say.listing.advert,
            className: 'cut',
            cell: (a) => (
              <>
                <Glyph state={a.status === 'duplicate' ? 'twin' : 'failed'} />
                <ToPage className="s" to="/listings/$id" of={a.listing_id} search={{ ...filters, from: 'refused' }}>
                  {a.title || a.platform_id}
                </ToPage>
              </>
            ),
          },
          {
            name: 'reasons',
            head: t.reason,
            className: 'wrap',
            cell: (a) =>
              a.status === 'duplicate' ? (
                <ToPage to="/listings/$id" of={a.duplicate_of ?? a.listing_id}>
                  {t.hidden(t.another)}
                </ToPage>
              ) : (
                a.reasons.map((r) => (
                  <div key={r.code + r.field}>
                    <b className="verm">{named(say.code.reason, r.code)}</b>{' '}
                    {r.field && <span className="mu">{named(say.code.field, r.field)}</span>}{' '}
                    {r.message && <Quoted text={r.message} />}
                  </div>
                ))
              ),
          },
          { name: 'platform', head: say.listing.platform, cell: (a) => <span className="mu n">{a.platform}</span> },
          { name: 'when', head: t.when, className: 'r', cell: (a) => <Age at={a.revised_at} /> },
          {
            name: 'again',
            head: <span className="aside">{t.processAgain}</span>,
            className: 'r',
            cell: (a) => (
              <>
                {again.isSuccess && isOf(again.variables, a) && (
                  <span role="status">
                    {say.listing.started} <InTemporal workflow={again.data.workflow} />{' '}
                  </span>
                )}
                <Do
                  disabled={again.isPending}
                  onClick={() => again.mutate({ platform: a.platform, platform_id: a.platform_id, stage: 'normalize' })}
                >
                  {t.processAgain}
                </Do>
              </>
            ),
          },
        ]}
      />
      {bulk && (
        <ProcessRefused
          {...bulk}
          filters={filters}
          fields={fields}
          onStarted={setReplay}
          replay={replay}
          onClose={() => setBulk(undefined)}
        />
      )}
    </>
  )
}

const isOf = (l: { platform: string; platform_id: string }, a: Schemas['AdvertSummary']) =>
  l.platform === a.platform && l.platform_id === a.platform_id

/** Quoted writes a reason: what the advert itself says, which stands in quotation marks, looks like others' words. */
function Quoted({ text }: { text: string }) {
  return (
    <>
      {text.split(/("[^"]*")/).map((part, i) =>
        part.startsWith('"') ? (
          <q key={i} className="s" dir="auto">
            {part.slice(1, -1)}
          </q>
        ) : (
          part
        ),
      )}
    </>
  )
}

/** countedBy is the filter of the adverts that a figure of the last days counts, today included: days are those of UTC. */
export const countedBy = (reason: string, platform: string | undefined, now: number): Filters => {
  const day = 24 * 3_600_000
  const since = new Date(now - (now % day) - (days - 1) * day).toISOString()
  return { reason, since, ...(platform && { platform }) }
}

/** Days draws the reasons of each day on top of each other; the table beside it says the same in figures. */
function Days({ counts, platform }: { counts: Schemas['ReasonCount'][]; platform: string | undefined }) {
  const { say, language } = useSay()
  const sums = new Map<string, number>()
  const byDay = new Map<string, Map<string, number>>()
  for (const c of counts) {
    sums.set(c.code, (sums.get(c.code) ?? 0) + c.adverts)
    const one = byDay.get(c.day) ?? new Map<string, number>()
    byDay.set(c.day, one.set(c.code, (one.get(c.code) ?? 0) + c.adverts))
  }
  const codes = [...sums].sort((a, b) => b[1] - a[1])
  if (codes.length === 0) return <Empty>{say.refused.noReasons}</Empty>
  const colours = ['var(--vermg)', 'var(--ochrg)', 'var(--viol)', 'var(--blue)', 'var(--verdg)']
  const colour = (code: string) =>
    colours[
      Math.min(
        codes.findIndex(([c]) => c === code),
        colours.length - 1,
      )
    ]
  const list = [...byDay].sort((a, b) => (a[0] < b[0] ? -1 : 1))
  const top = Math.max(...list.map(([, m]) => [...m.values()].reduce((a, b) => a + b, 0)))
  const width = 100 / Math.max(list.length, 7)
  return (
    <>
      <svg className="days" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        {list.map(([day, m], i) => {
          let y = 100
          return codes.map(([code]) => {
            const h = (96 * (m.get(code) ?? 0)) / top
            y -= h
            return (
              h > 0 && (
                <rect key={day + code} x={i * width} y={y} width={width * 0.85} height={h} fill={colour(code)}>
                  <title>
                    {`${dayOf(new Date(day), 'UTC', language)}, ${named(say.code.reason, code)}: ${count(m.get(code)!, language)}`}
                  </title>
                </rect>
              )
            )
          })
        })}
      </svg>
      <div className="days-axis" aria-hidden="true">
        {list.map(([day]) => (
          <span key={day} style={{ width: `${width}%` }}>
            {dayOf(new Date(day), 'UTC', language)}
          </span>
        ))}
      </div>
      <div className="legend">
        {codes.map(([code, n]) => (
          <ToPage key={code} to="/refused" search={countedBy(code, platform, Date.now())}>
            <i style={{ background: colour(code) }} />
            {named(say.code.reason, code)} <b>{count(n, language)}</b>
          </ToPage>
        ))}
      </div>
    </>
  )
}
