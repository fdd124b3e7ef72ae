import type { Schemas } from '../api/client'
import { useRuns } from '../api/crawl'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import { Start } from './Start'
import './crawl.css'

const runGlyph: Record<Schemas['CrawlRun']['status'], State> = {
  RUNNING: 'changed',
  PAUSED: 'look',
  COMPLETED: 'done',
  CANCELLED: 'idle',
}

/** Runs are the crawls, and the form that starts one. */
export function Runs() {
  const { say, language } = useSay()
  const t = say.run
  const [filters] = useFilters()
  const runs = useRuns(filters)
  const fields = [anyOf('state', t.state, t.states)]
  return (
    <>
      <Head title={t.title}>
        <p>{t.intro}</p>
      </Head>
      <Start />
      <FilterBar fields={fields} />
      <Rows
        label={t.title}
        pages={runs}
        id={(r) => String(r.id)}
        empty={<Nothing fields={fields} never={t.never} />}
        columns={[
          {
            name: 'seed',
            head: t.seed,
            className: 'cut',
            cell: (r) => (
              <>
                <Glyph state={runGlyph[r.status]} />
                <ToPage className="m" to="/crawl/$id" of={r.id}>
                  {r.seed_url}
                </ToPage>
              </>
            ),
          },
          { name: 'state', head: t.state, cell: (r) => t.states[r.status] },
          { name: 'visited', head: t.visited, className: 'r', cell: (r) => count(r.totals.visited, language) },
          { name: 'queued', head: t.counters.queued(2), className: 'r', cell: (r) => count(r.totals.queued, language) },
          { name: 'started', head: t.started, className: 'r', cell: (r) => <Age at={r.started_at} /> },
        ]}
      />
    </>
  )
}
