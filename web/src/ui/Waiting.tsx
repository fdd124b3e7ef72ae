import type { ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { useQueuePast } from '../api/queries'
import { count, decimal, duration } from '../say/format'
import { useSay } from '../say/Say'
import { Glyph, type State } from './Glyph'
import './lists.css'
import { Heads } from './parts'
import { Spark } from './Spark'
import { ToPage } from './ToPage'

const none: Schemas['QueuePoint'][] = []

export type Kind = Schemas['QueueSeries']['kind']

interface Row {
  kind: Kind
  name: string
  label: ReactNode
  to: string
  search?: Record<string, string>
  state: State
  warning?: string
  ready: number
  in?: number | null // a second; null and undefined = not known
  done?: number | null
  consumers: string
  oldest: string
  missing?: boolean
}

/** queuesOf counts what Waiting lists without a bound. */
export const queuesOf = (r: Schemas['Report']) => r.queues.length + r.task_queues.filter(alive).length + 2

const alive = (q: Schemas['TaskQueue']) => q.backlog > 0 || q.workers > 0 || !!q.warning

/**
 * Waiting lists queues of RabbitMQ, task queues of Temporal and what waits in Postgres, each with its last hour. most
 * bounds each of the first two: what waits, what moves and what has a warning is kept.
 */
export function Waiting({ report, most = Infinity }: { report: Schemas['Report']; most?: number }) {
  const { say, language } = useSay()
  const t = say.queue
  const past = useQueuePast('1h').data
  const points = (kind: Kind, name: string) => past?.queues.find((q) => q.kind === kind && q.queue === name)?.points
  const lastRate = (name: string) => points('postgres', name)?.at(-1)
  const dead = report.dead_letters.reduce((sum, d) => sum + d.open, 0)
  const chosen = (kind: Kind, queue: string) => ({ to: '/queues', search: { kind, queue } })

  const rabbit = report.queues.map((q): Row => {
    // Messages that nobody takes: for queues of ours the report warns, for those of others it is worth a look.
    const untaken = q.ready > 0 && q.consumers === 0
    return {
      kind: 'rabbitmq',
      name: q.name,
      label: q.name,
      ...chosen('rabbitmq', q.name),
      state: q.warning || q.missing || untaken ? 'look' : q.consumers > 0 ? 'done' : 'idle',
      warning: q.warning ?? (untaken ? t.untaken : undefined),
      ready: q.ready,
      in: q.publish_rate,
      done: q.ack_rate,
      consumers: count(q.consumers, language),
      oldest: '–',
      missing: q.dead_letters && q.ready === 0 && !q.warning,
    }
  })
  const temporal = report.task_queues.filter(alive).map((q): Row => ({
    kind: q.type,
    name: q.name,
    label: (
      <>
        {q.name} <span className="mu">{q.type}</span>
      </>
    ),
    ...chosen(q.type, q.name),
    state: q.warning ? 'look' : q.workers > 0 ? 'done' : 'idle',
    warning: q.warning,
    ready: q.backlog,
    in: q.add_rate,
    done: q.dispatch_rate,
    consumers: count(q.workers, language),
    oldest: q.backlog > 0 ? duration(q.oldest_age_seconds, language) : '–',
  }))
  const outbox = lastRate('outbox')
  const postgres: Row[] = [
    {
      kind: 'postgres',
      name: 'outbox',
      label: t.outbox,
      ...chosen('postgres', 'outbox'),
      state: report.outbox.refused > 0 ? 'failed' : 'done',
      ready: report.outbox.pending,
      in: outbox?.in_rate,
      done: outbox?.done_rate,
      consumers: t.relay,
      oldest: report.outbox.pending > 0 ? duration(report.outbox.oldest_age_seconds, language) : '–',
    },
    {
      kind: 'postgres',
      name: 'dead_letters',
      label: t.deadOpen,
      to: '/dead-letters',
      state: dead > 0 ? 'failed' : 'done',
      ready: dead,
      consumers: t.aPerson,
      oldest: '–',
    },
  ]
  const longest = Math.max(1, ...[...rabbit, ...temporal, ...postgres].map((r) => r.ready))
  const busy = (r: Row) => (r.state === 'look' ? 1e12 : 0) + r.ready * 1000 + (r.in ?? 0) + (r.done ?? 0)
  const cut = (rows: Row[]) =>
    rows.length <= most
      ? rows
      : rows
          .filter((r) => !r.missing)
          .map((r, i) => ({ r, i }))
          .sort((a, b) => busy(b.r) - busy(a.r) || a.i - b.i)
          .slice(0, most)
          .map(({ r }) => r)
  const line = (r: Row) => (
    <tr key={r.kind + r.name}>
      <td title={r.warning}>
        <Glyph state={r.state} />
        <ToPage to={r.to} search={r.search ?? {}}>
          {r.label}
        </ToPage>
        {r.warning && <span className="aside">: {r.warning}</span>}
      </td>
      <td className="r">
        {r.ready > 0 && <i className={`bar ${r.state}`} style={{ width: Math.max(1, (92 * r.ready) / longest) }} />}
        {count(r.ready, language)}
      </td>
      <td className="r m2">{rate(r.in, language)}</td>
      <td className="r m2">{rate(r.done, language)}</td>
      <td className="sp">
        {past && (
          <Spark
            past={past}
            points={points(r.kind, r.name) ?? none}
            state={r.state === 'changed' || r.state === 'twin' ? 'done' : r.state}
          />
        )}
      </td>
      <td className="r m2">{r.consumers}</td>
      <td className="r m2">{r.oldest}</td>
    </tr>
  )
  return (
    <table className="waiting">
      <Heads
        of={[
          t.name,
          [t.ready, 'r'],
          [t.in, 'r'],
          [t.out, 'r'],
          [t.lastHour, 'sp'],
          [t.consumers, 'r'],
          [t.oldest, 'r'],
        ]}
      />
      <tbody>
        {cut(rabbit).map(line)}
        <Group name={t.temporal} />
        {cut(temporal).map(line)}
        <Group name={t.postgres} />
        {postgres.map(line)}
        {report.unknown.map((name) => (
          <tr key={name}>
            <td colSpan={7}>
              <Glyph state="look" />
              {t.unknown(name)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const rate = (v: number | null | undefined, language: 'en' | 'fr') => (v == null ? '–' : decimal(v, language))

function Group({ name }: { name: string }) {
  return (
    <tr className="grp">
      <th colSpan={7} scope="rowgroup">
        {name}
      </th>
    </tr>
  )
}
