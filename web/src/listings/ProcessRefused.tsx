import { useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { onceOf } from '../api/once'
import { Problem } from '../api/problem'
import { planReplay, readAdvertIDs, readAdverts, startReplay, type Filters } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Bulk, type Effect } from '../ui/Bulk'
import { inWords, type Field } from '../ui/Filter'
import { each } from '../ui/filters'
import { ToPage } from '../ui/ToPage'

const mostNamed = 200 // adverts that a replay names one by one; the API takes no more

/** begun is how many adverts a replay that was started is of: until all are counted, its total is of the first of them. */
export const begun = (r: { total: number; counted: boolean }, planned: number) =>
  r.counted ? r.total : Math.max(r.total, planned)

/** ProcessRefused processes adverts again: those chosen by hand, or all that a filter means. */
export function ProcessRefused(p: {
  which: 'all' | Schemas['AdvertSummary'][]
  filters: Filters
  fields: Field[]
  onStarted: (id: string) => void
  replay: string | undefined
  onDone?: () => void
  onClose: () => void
}) {
  const { say, language } = useSay()
  const t = say.refused
  const { text } = p.filters
  const status = each(p.filters.status || 'rejected') as ('rejected' | 'duplicate')[]
  const which = { platform: p.filters.platform, reason: p.filters.reason, status }
  // A replay has no words to search for, no time of a revision, and one platform and reason at most: the adverts are named
  // one by one.
  const oneByOne = !!text || !!p.filters.since || [which.platform, which.reason].some((v) => v?.includes(','))
  const byWords = useRef<{ ids: string[] }>(undefined)
  const [start] = useState(() => onceOf(startReplay))
  const replayOf = (filter: Schemas['ReplayWhich'], dry_run: boolean) =>
    (dry_run ? planReplay : start)({ stage: 'normalize', filter })
  const tooMany = () => new Problem(422, t.tooMany(count(mostNamed, language)), '')
  const one = async (dry_run: boolean, signal?: AbortSignal) => {
    if (!oneByOne) return replayOf(which, dry_run)
    if (!byWords.current) {
      const found = await readAdvertIDs(p.filters, mostNamed, signal)
      if (found.more) throw tooMany()
      byWords.current = found
    }
    if (byWords.current.ids.length === 0) return { total: 0, counted: true, replay: undefined }
    return replayOf({ ids: byWords.current.ids }, dry_run)
  }
  const sampleOf = (adverts: Schemas['AdvertSummary'][]) =>
    adverts.slice(0, 10).map((a) => (
      <>
        {a.platform} <span className="s">{a.title || a.platform_id}</span>
      </>
    ))
  const planned = useRef(0)
  const ofFilter = async (dry_run: boolean, signal?: AbortSignal): Promise<Effect> => {
    const [r, sample] = await Promise.all([one(dry_run, signal), dry_run ? readAdverts(p.filters, 10, signal) : []])
    if (r.replay) p.onStarted(r.replay.id)
    if (dry_run) planned.current = r.total
    return { matched: r.total, done: dry_run ? 0 : begun(r, planned.current), left: 0, sample: sampleOf(sample) }
  }
  const [chosen] = useState(() => (p.which === 'all' ? [] : p.which))
  const ofChosen = async (dryRun: boolean): Promise<Effect> => {
    const n = chosen.length
    if (n > mostNamed) throw tooMany()
    if (dryRun) return { matched: n, done: 0, left: n, sample: sampleOf(chosen) }
    const r = await replayOf({ ids: chosen.map((a) => a.listing_id) }, false)
    if (r.replay) p.onStarted(r.replay.id)
    return { matched: n, done: n, left: 0 }
  }
  const words = inWords(p.filters, p.fields)
  const all = p.which === 'all'
  return (
    <Bulk
      title={all ? t.processAll : t.processAgain}
      filter={!all ? t.filterChosen : words === '' ? t.filterAll : t.filter(words)}
      button={t.processN}
      stale={['adverts', 'reasons']}
      onDone={p.onDone}
      onClose={p.onClose}
      done={(n) => (
        <>
          {t.processed(n)}{' '}
          {p.replay && (
            <ToPage to="/replays/$id" of={p.replay}>
              {t.seeReplay}
            </ToPage>
          )}
        </>
      )}
      act={all ? ofFilter : ofChosen}
    />
  )
}
