import { Link } from '@tanstack/react-router'

import type { Schemas } from '../api/client'
import { useRuns } from '../api/crawl'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { Start } from './Start'
import './crawl.css'

export const runGlyph: Record<Schemas['CrawlRun']['status'], State> = {
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
  const fields: Field[] = [
    {
      name: 'state',
      label: t.state,
      several: true,
      options: Object.entries(t.states).map(([value, label]) => ({ value, label })),
    },
  ]
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
                <Link className="m" to={'/crawl/$id' as '/'} params={{ id: String(r.id) } as never}>
                  {r.seed_url}
                </Link>
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
