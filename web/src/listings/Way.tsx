import { useState } from 'react'

import type { Schemas } from '../api/client'
import { duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Section } from '../ui/parts'
import { ToPage } from '../ui/ToPage'

type Step = Schemas['WayStep']

const failed: Step['step'][] = ['refused', 'withheld']
const done: Step['step'][] = ['new', 'changed', 'unchanged', 'back']

/**
 * Way is how a revision went through the pipeline, as a line with its stations, and what fell off on the way of the newest.
 * It outlives the workflow's history.
 */
export function Way({ advert: a }: { advert: Schemas['Advert'] }) {
  const { way } = a
  const { say, language } = useSay()
  const t = say.listing
  const revisions = [...new Set(way.map((s) => s.revision))].sort((a, b) => a - b)
  const [chosen, choose] = useState<number>()
  const revision = chosen ?? revisions.at(-1)
  if (revision === undefined) return null
  const steps = way.filter((s) => s.revision === revision).slice(-12)
  const gap = 150
  const newest = revision === revisions.at(-1)
  const lost = newest ? a.images.filter((i) => i.state === 'failed' || i.state === 'dropped') : []
  const kept = a.images.filter((i) => i.key).length
  const took = (Date.parse(steps.at(-1)!.at) - Date.parse(steps[0]!.at)) / 1000
  return (
    <Section
      title={t.way(revision)}
      note={steps.length > 1 ? t.tookAll(duration(took, language)) : undefined}
      go={
        revisions.length > 1 && (
          <span className="seg">
            {revisions.slice(-6).map((r) => (
              <button key={r} aria-pressed={r === revision} onClick={() => choose(r)}>
                {r}
              </button>
            ))}
          </span>
        )
      }
      wide
    >
      <ol className="way" style={{ minWidth: steps.length * gap * 0.8 }}>
        {steps.map((s) => (
          <li
            key={`${s.pass} ${s.step}`}
            className={failed.includes(s.step) ? 'failed' : done.includes(s.step) ? 'done' : ''}
          >
            <b>{t.steps[s.step]}</b> {s.again && <span className="mu">{t.again}</span>}
            <span className="mu">
              <At at={s.at} />
              {s.took_ms !== undefined && `, ${duration(s.took_ms / 1000, language)}`}
              {s.pass > 0 && `, ${t.pass(s.pass)}`}
            </span>
          </li>
        ))}
        {newest && a.images.length > 0 && (
          <li className={kept === a.images.length ? 'done' : ''}>
            <b>{t.pictures.toLowerCase()}</b>
            <span className="mu">{t.picturesNote(kept, a.images.length)}</span>
          </li>
        )}
      </ol>
      {newest && lost.length + a.dead_letters.length > 0 && (
        <ul className="fell">
          {lost.map((i) => (
            <li key={i.url}>
              <Glyph state="failed" />
              <b>{t.picture(a.images.indexOf(i) + 1, a.images.length)}</b> {i.reason || t.imageStates[i.state]}
              {i.attempts > 0 && <span className="mu"> {t.tries(i.attempts)}</span>}
            </li>
          ))}
          {a.dead_letters.map((d) => (
            <li key={d.id}>
              <Glyph state="failed" />
              <ToPage to="/dead-letters/$id" of={d.id}>
                {t.deadLetter(d.id)}
              </ToPage>{' '}
              <span className="mu">
                <bdi lang="en">{d.reason}</bdi>, {named(say.letter.states, d.state)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
