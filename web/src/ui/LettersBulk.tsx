import { useState } from 'react'

import type { Schemas } from '../api/client'
import { discardLetter, discardLetters, replayLetter, replayLetters, useReport, type Filters } from '../api/queries'
import { Problem } from '../api/problem'
import { named } from '../say/format'
import { useSay, type Sentences } from '../say/Say'
import { Bulk, type Effect } from './Bulk'
import { anyOf, inWords, type Field } from './Filter'
import { ToPage } from './ToPage'

/** letterFields are the filters of dead letters; counts are of those that are open, whose queues and classes are chosen from. */
export function letterFields(say: Sentences, counts: Schemas['DeadCount'][] = []): Field[] {
  const t = say.letter
  const values = (of: (d: Schemas['DeadCount']) => string, names = {}) =>
    [...new Set(counts.map(of))].sort().map((value) => ({ value, label: named(names, value) }))
  return [
    anyOf('state', t.state, t.states, 'open'),
    { name: 'queue', label: t.queue, several: true, options: values((d) => d.queue) },
    { name: 'class', label: t.class, several: true, options: values((d) => d.class, say.code.fault) },
    { name: 'platform', label: say.listing.platform, several: true },
    { name: 'reason', label: t.reason },
    { name: 'workflow_id', label: t.workflow },
  ]
}

const portion = 20 // letters that are replayed one by one before the bar moves, and Stop is heard

/**
 * oneByOne acts on the next portion of left, and takes each off when it was answered. An error after some were done is thrown
 * at the next call, so that these count. Those that the API does not act on come with what it says: that somebody has
 * dealt with one meanwhile, or why it cannot be done.
 */
export async function oneByOne<T extends { id: number }>(left: T[], act: (one: T) => Promise<unknown>) {
  let done = 0
  const refused: string[] = []
  for (const one of left.slice(0, portion)) {
    try {
      await act(one)
      done++
    } catch (e) {
      const problem = Problem.of(e)
      if (problem.status !== 409) {
        if (done + refused.length === 0) throw e
        break
      }
      refused.push(`${one.id}: ${problem.message}`)
    }
    left.shift()
  }
  return { matched: left.length, done, left: left.length, refused }
}

/**
 * LettersBulk replays or discards dead letters: those chosen by hand, or all open ones that a filter means, which the
 * API finds itself at the moment of the act.
 */
export function LettersBulk(p: {
  what: 'replay' | 'discard'
  filters: Filters
  chosen?: Schemas['LetterItem'][]
  onDone?: () => void
  onClose: () => void
}) {
  const { say } = useSay()
  const t = say.letter
  const [since] = useState(() => new Date().toISOString())
  const { state: _, ...which } = p.filters // only open letters are replayed or discarded
  const words = inWords(which, letterFields(say, useReport().data?.dead_letters))
  const replay = p.what === 'replay'
  const sample = (letters: Schemas['LetterItem'][]) => letters.slice(0, 10).map((l) => `${l.queue}: ${l.reason}`)
  const [over, addOver] = useState(0)
  const [refused, addRefused] = useState<string[]>([])
  const ofFilter = async (dry_run: boolean): Promise<Effect> => {
    if (replay) {
      const r = await replayLetters({ ...which, dry_run })
      addOver((n) => n + r.over)
      return { matched: r.matched, done: r.replayed, left: r.left, sample: sample(r.sample) }
    }
    const r = await discardLetters({ ...which, dry_run })
    return { matched: r.matched, done: r.discarded, left: r.left, sample: sample(r.sample) }
  }
  const [left] = useState(() => p.chosen?.filter((l) => l.state === 'open') ?? [])
  const ofChosen = async (dryRun: boolean): Promise<Effect> => {
    if (dryRun) return { matched: left.length, done: 0, left: left.length, sample: sample(left) }
    const e = await oneByOne(left, (l) => (replay ? replayLetter({ id: l.id }) : discardLetter(l.id)))
    addRefused((all) => [...all, ...e.refused])
    return e
  }
  return (
    <Bulk
      danger={!replay}
      title={replay ? (p.chosen ? t.replayChosen : t.replayAll) : p.chosen ? t.discardChosen : t.discardAll}
      filter={p.chosen ? t.filterChosen : words === '' ? t.filterAll : t.filter(words)}
      button={replay ? t.replayN : t.discardN}
      done={(n) => (
        <>
          {replay ? t.replayed(n) : t.discarded(n)} {over > 0 && `${t.over(over)} `}
          {refused.length > 0 && (
            <>
              <span className="verm">{t.refused(refused.length)}</span>
              {refused.slice(0, 10).map((why) => (
                <bdi key={why} lang="en" className="m2" style={{ display: 'block' }}>
                  {why}
                </bdi>
              ))}
            </>
          )}
          <ToPage to="/activity" search={{ action: replay ? 'dead_letter.replayed' : 'dead_letter.discarded', since }}>
            {t.seeActivity}
          </ToPage>
          {', '}
          <ToPage to="/dead-letters" search={{ ...which, state: replay ? 'replayed' : 'discarded' }}>
            {t.seeLetters}
          </ToPage>
        </>
      )}
      act={p.chosen ? ofChosen : ofFilter}
      stale={['letters', 'letter', 'queues']}
      onDone={p.onDone}
      onClose={p.onClose}
    />
  )
}
