import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useMake } from '../api/once'
import { cancelReplay, planReplay, startReplay, useDo, usePlatforms, useReplay, useReplays } from '../api/queries'
import { count, dayAndTime, deviceZone, named } from '../say/format'
import { useSay, type Voice } from '../say/Say'
import { Age } from '../ui/Age'
import { Ask, typeAbove, TypeNumber } from '../ui/Ask'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Crumb, Head, InTemporal, Json, Options, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { Do } from '../ui/Do'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'

type One = Schemas['Replay']

const glyph: Record<One['state'], State> = { running: 'changed', completed: 'done', canceled: 'idle', failed: 'failed' }

/** Replays are the runs of stored adverts through the pipeline again. */
export function Replays() {
  const voice = useSay()
  const { say } = voice
  const t = say.replay
  const [filters] = useFilters()
  const replays = useReplays(filters)
  const [making, setMaking] = useState(false)
  const fields = [anyOf('state', t.state, t.states)]
  return (
    <>
      <Head
        title={t.title}
        actions={
          <Do className="btn p" onClick={() => setMaking(true)}>
            {t.newOne}
          </Do>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <FilterBar fields={fields} />
      <Rows
        label={t.title}
        pages={replays}
        id={(r) => r.id}
        empty={<Nothing fields={fields} never={t.never} />}
        columns={[
          {
            name: 'state',
            head: t.state,
            cell: (r) => (
              <>
                <Glyph state={glyph[r.state]} />
                <ToPage to="/replays/$id" of={r.id}>
                  {t.states[r.state]}
                </ToPage>
              </>
            ),
          },
          { name: 'stage', head: t.stage, cell: (r) => say.listing.from[r.stage] },
          {
            name: 'filter',
            head: t.filter,
            className: 'cut',
            cell: (r) => <span className="m2">{which(r.filter, voice) || t.everything}</span>,
          },
          { name: 'progress', head: t.progress, className: 'r', cell: (r) => <Progress replay={r} /> },
          { name: 'by', head: t.by, className: 'gap', cell: (r) => r.started_by },
          { name: 'started', head: t.started, className: 'r', cell: (r) => <Age at={r.created_at} /> },
        ]}
      />
      {making && <Make onClose={() => setMaking(false)} />}
    </>
  )
}

/** which says in words of which adverts a replay is; of those that are named one by one, how many. */
export function which(f: Schemas['ReplayFilter'], { say, language, zone }: Pick<Voice, 'say' | 'language' | 'zone'>) {
  const t = say.replay
  const time = (at: string) => dayAndTime(new Date(at), zone, language)
  return [
    f.ids?.length && t.named(f.ids.length, count(f.ids.length, language)),
    f.platform && `${say.listing.platform}: ${f.platform}`,
    f.reason && `${say.refused.reason}: ${named(say.code.reason, f.reason)}`,
    f.status?.length && `${say.refused.status}: ${f.status.map((s) => named(t.statuses, s)).join(', ')}`,
    f.scraped_since && `${t.scrapedSince}: ${time(f.scraped_since)}`,
    f.scraped_until && `${t.scrapedUntil}: ${time(f.scraped_until)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

function Progress({ replay: r }: { replay: One }) {
  const { say, language } = useSay()
  return (
    <>
      <progress max={Math.max(r.total, 1)} value={r.done} aria-label={say.replay.progress} />{' '}
      {say.doneOf(count(r.done, language), count(r.total, language))}
    </>
  )
}

/** Replay is one of them, live. */
export function Replay() {
  const voice = useSay()
  const { say, language } = voice
  const t = say.replay
  const { id } = useParams({ strict: false }) as { id: string }
  const replay = useReplay(id)
  const cancel = useDo(cancelReplay, 'replay', 'replays')
  const r = replay.data
  if (!r) return <Unread of={replay} title={id} crumbs={<Crumb to="/replays">{t.title}</Crumb>} />
  const figures = (labels: Record<string, (n: number) => string>, values: Record<string, number>) =>
    Object.entries(labels).map(([name, label]) => (
      <span key={name}>
        <b>{count(values[name] ?? 0, language)}</b>
        {label(values[name] ?? 0)}
      </span>
    ))
  return (
    <>
      <Head
        crumbs={<Crumb to="/replays">{t.title}</Crumb>}
        title={`${say.listing.from[r.stage]}: ${which(r.filter, voice) || t.everything}`}
        actions={
          <>
            {r.state === 'running' && (
              <Do disabled={cancel.isPending} onClick={() => cancel.mutate(r.id)}>
                {say.stop}
              </Do>
            )}
            <InTemporal workflow={r.workflow} button />
          </>
        }
      >
        <p>
          <Glyph state={glyph[r.state]} />
          {t.states[r.state]}
          {r.reason && `: ${r.reason}`} · {t.by.toLowerCase()} <b>{r.started_by}</b>, <Age at={r.created_at} /> ·{' '}
          {t.atMost(count(r.rate, language))}
          {r.eta && r.state === 'running' && (
            <>
              {' '}
              · {t.done} <Age at={r.eta} />
            </>
          )}
          {r.ended_at && (
            <>
              {' '}
              · {t.ended} <Age at={r.ended_at} />
            </>
          )}
        </p>
      </Head>
      <Trouble error={cancel.error} />
      <p style={{ marginBottom: 20 }} role="status">
        <Progress replay={r} /> {!r.counted && <span className="mu">{t.notCounted}</span>}
      </p>
      <Section title={t.outcomes}>
        <p className="nums">
          {figures(t.outcome, r.outcomes as never)}
          <span>
            <b>{count(r.failed, language)}</b>
            {t.failed}
          </span>
        </p>
      </Section>
      <Section title={t.skips} note={count(r.skipped, language)}>
        <p className="nums">{figures(t.skip, r.skips as never)}</p>
      </Section>
      <Section title={t.filter}>
        <Json value={r.filter} />
      </Section>
    </>
  )
}

const statuses = ['scraped', 'normalized', 'imported', 'duplicate', 'rejected'] as const

/** Make counts first, and starts what was counted. */
function Make({ onClose }: { onClose: () => void }) {
  const { say, language } = useSay()
  const t = say.replay
  const navigate = useNavigate()
  const platforms = usePlatforms().data?.items ?? []
  const [stage, setStage] = useState<Schemas['ReplayStart']['stage']>('normalize')
  const [platform, setPlatform] = useState('')
  const [reason, setReason] = useState('')
  const [status, setStatus] = useState('')
  const [since, setSince] = useState('')
  const [until, setUntil] = useState('')
  const [rate, setRate] = useState('')
  const [typed, setTyped] = useState('')
  const plan = useDo(planReplay)
  const start = useMake(startReplay, 'replays')
  const body = {
    stage,
    filter: {
      platform: platform || undefined,
      reason: reason || undefined,
      status: status ? [status as (typeof statuses)[number]] : undefined,
      scraped_since: since ? new Date(since).toISOString() : undefined,
      scraped_until: until ? new Date(until).toISOString() : undefined,
    },
    rate: rate ? Number(rate) : undefined,
  }
  const total = plan.data?.total ?? 0
  const mustType = total > typeAbove
  return (
    <Ask title={t.newOne} held={start.isPending} onClose={onClose}>
      <h2>{t.newOne}</h2>
      <Trouble error={plan.error ?? start.error} />
      <form
        className="filters"
        onChange={() => plan.reset()}
        onSubmit={(e) => {
          e.preventDefault()
          plan.mutate(body)
        }}
      >
        <label>
          {t.stage}
          <select className="in" value={stage} onChange={(e) => setStage(e.target.value as typeof stage)}>
            <Options of={Object.entries(say.listing.from)} />
          </select>
        </label>
        <label>
          {say.listing.platform}
          <select className="in" value={platform} onChange={(e) => setPlatform(e.target.value)}>
            <option value="">{say.any}</option>
            {platforms.map((p) => (
              <option key={p.name}>{p.name}</option>
            ))}
          </select>
        </label>
        <label>
          {say.refused.reason}
          <input className="in" value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
        <label>
          {say.refused.status}
          <select className="in" value={status} onChange={(e) => setStatus(e.target.value)}>
            <option value="">{say.any}</option>
            <Options of={statuses.map((one) => [one, t.statuses[one]])} />
          </select>
        </label>
        <label>
          {t.scrapedSince}, {deviceZone()}
          <input className="in" type="datetime-local" value={since} onChange={(e) => setSince(e.target.value)} />
        </label>
        <label>
          {t.scrapedUntil}, {deviceZone()}
          <input className="in" type="datetime-local" value={until} onChange={(e) => setUntil(e.target.value)} />
        </label>
        <label>
          {t.rate}
          <input className="in" type="number" min="1" value={rate} onChange={(e) => setRate(e.target.value)} />
        </label>
        <button className="btn" disabled={plan.isPending}>
          {t.dryRun}
        </button>
      </form>
      {plan.data && <p role="status">{t.wouldReplay(total, count(total, language))}</p>}
      {mustType && <TypeNumber n={total} typed={typed} onType={setTyped} />}
      <p className="btns">
        <Do
          className="btn p"
          disabled={total === 0 || start.isPending || (mustType && typed !== String(total))}
          onClick={() =>
            start.mutate(body, {
              onSuccess: (r) => {
                onClose()
                if (r.replay) void navigate({ to: `/replays/${r.replay.id}` as '/' })
              },
            })
          }
        >
          {t.go(count(total, language))}
        </Do>
        <button className="btn" onClick={onClose}>
          {say.cancel}
        </button>
      </p>
    </Ask>
  )
}
