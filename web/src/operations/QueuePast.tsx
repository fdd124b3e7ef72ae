import type { Schemas } from '../api/client'
import { useQueuePast, type PastWindow } from '../api/queries'
import { count, decimal, tick } from '../say/format'
import { useSay } from '../say/Say'
import { Chart, type Line } from '../ui/Chart'
import { Empty, Section, Trouble } from '../ui/parts'
import { gapOf } from '../ui/Spark'
import type { Kind } from '../ui/Waiting'

export const windows = ['1h', '6h', '24h', '48h'] as const

type Point = Schemas['QueuePoint']

/** QueuePast is one queue over time: what waited, and what came and went a second. */
export function QueuePast(p: {
  kind: Kind
  queue: string
  window: PastWindow
  onWindow: (w: PastWindow) => void
  onClose: () => void
}) {
  const { say, language, zone } = useSay()
  const t = say.queue
  const past = useQueuePast(p.window, p.queue)
  const points = past.data?.queues.find((q) => q.kind === p.kind && q.queue === p.queue)?.points ?? []
  const waits: Line<Point>[] = [{ name: t.ready, colour: 'var(--verdg)', fill: true, of: (one) => one.ready }]
  const moves: Line<Point>[] = [
    { name: t.in, colour: 'var(--blue)', of: (one) => one.in_rate },
    { name: t.out, colour: 'var(--verdg)', dash: '6 4', of: (one) => one.done_rate },
  ]
  const span = Number.parseInt(p.window) * 3600 // s
  return (
    <Section
      title={`${p.queue} (${t.kinds[p.kind]})`}
      note={
        <span className="seg">
          {windows.map((w) => (
            <button key={w} aria-pressed={w === p.window} onClick={() => p.onWindow(w)}>
              {t.windows[w]}
            </button>
          ))}
        </span>
      }
      go={
        <button className="btn q" onClick={p.onClose}>
          {say.close}
        </button>
      }
    >
      <Trouble error={past.error} again={() => void past.refetch()} />
      {past.data && points.length === 0 && <Empty>{t.noPast}</Empty>}
      {past.data && points.length > 0 && (
        <div className={past.isPlaceholderData ? 'dim' : undefined}>
          {[
            { label: t.ready, lines: waits, value: (v: number) => count(v, language) },
            { label: t.moves, lines: moves, value: (v: number) => decimal(v, language) },
          ].map((one) => (
            <Chart
              key={one.label}
              {...one}
              points={points}
              since={past.data!.since}
              until={new Date(past.dataUpdatedAt).toISOString()}
              gap={gapOf(past.data!)}
              time={(at) => tick(at, span, zone, language)}
              head={t.at}
              empty={t.noPast}
            />
          ))}
        </div>
      )}
    </Section>
  )
}
