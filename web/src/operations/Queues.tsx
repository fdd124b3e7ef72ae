import { useReport, type PastWindow } from '../api/queries'
import { useSay } from '../say/Say'
import { useFilters } from '../ui/Filter'
import { Head, Section, Trouble } from '../ui/parts'
import { Reading } from '../ui/Unread'
import { Waiting, type Kind } from '../ui/Waiting'
import { Warnings } from '../ui/Warnings'
import { QueuePast, windows } from './QueuePast'
import './operations.css'

/** Queues is everything that can wait, in one table, and the past of the one that is chosen. */
export function Queues() {
  const { say } = useSay()
  const report = useReport()
  const [filters, change] = useFilters()
  const r = report.data
  const window = (windows as readonly string[]).includes(filters.window ?? '') ? filters.window : '1h'
  return (
    <>
      <Head title={say.queue.title}>
        <p>{say.queue.intro}</p>
      </Head>
      <Trouble error={report.error} again={() => void report.refetch()} />
      {report.isLoading && <Reading />}
      {filters.queue && (
        <QueuePast
          kind={(filters.kind ?? 'rabbitmq') as Kind}
          queue={filters.queue}
          window={window as PastWindow}
          onWindow={(w) => change({ window: w === '1h' ? '' : w })}
          onClose={() => change({ queue: '', kind: '', window: '' })}
        />
      )}
      {r && (
        <>
          <Section title={say.queue.warnings} note={r.concerns.length || say.none}>
            <Warnings concerns={r.concerns} />
          </Section>
          <Section title={say.today.waits} note={say.queue.choose} wide>
            <Waiting report={r} />
          </Section>
        </>
      )}
    </>
  )
}
