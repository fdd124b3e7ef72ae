import { useState } from 'react'

import type { Schemas } from '../api/client'
import { decide, undoVerdict, useDo, useDuplicates, useListing } from '../api/queries'
import { money, named, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { Ask, Close } from '../ui/Ask'
import { Do } from '../ui/Do'
import { Glyph } from '../ui/Glyph'
import { Out, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { flat } from './flat'

type Home = Schemas['Home']

/** SameHome are the other adverts of a listing's home. */
export function SameHome({ id }: { id: string }) {
  const { say } = useSay()
  const homes = useDuplicates({ listing: id })
  const home = homes.data?.pages[0]?.items[0]
  if (!home) return null
  return (
    <Section
      title={say.duplicate.sameHome}
      note={say.duplicate.adverts(home.members.length)}
      go={
        <ToPage to="/duplicates" search={{ listing: id }}>
          {say.duplicate.title}
        </ToPage>
      }
    >
      <Members home={home} beside={id} />
    </Section>
  )
}

const stale = ['duplicates', 'listing', 'listings'] as const

/**
 * Members are the adverts of a home with what can be said of them. beside is the one that others are compared with.
 * onSaid hears the number of a decision, after which the home may have one advert only, and be listed no more.
 */
export function Members(p: { home: Home; beside?: string; onSaid?: (verdict: Verdict) => void }) {
  const { home: h, beside } = p
  const { say } = useSay()
  const t = say.duplicate
  const tell = useDo(
    async (d: Parameters<typeof decide>[0]) => {
      const { number } = await decide(d)
      p.onSaid?.({ number, listing_id: d.listing_id, verdict: d.verdict })
    },
    ...stale,
  )
  const [pair, compare] = useState<[string, string]>()
  const other = beside ?? h.shown
  return (
    <>
      <Trouble error={tell.error} />
      {h.members
        .filter((m) => m.listing_id !== beside)
        .map((m) => (
          <div className="twin" key={m.listing_id}>
            <div>
              <Glyph state={m.listing_id === h.shown ? 'done' : 'twin'} />
              <ToPage className="s" data-row="" to="/listings/$id" of={m.listing_id}>
                {m.title || m.platform_id}
              </ToPage>{' '}
              <span className="tag">{m.listing_id === h.shown ? t.shown : t.hidden}</span>
              <p>
                {m.platform} <Out href={m.url} /> · {money(m.rent_cents)}
                {m.reasons.length > 0 && (
                  <bdi lang="en"> · {m.reasons.map((r) => r.message.replace(/^\S+: /, '')).join(', ')}</bdi>
                )}
                {m.reviewed_by && ` · ${t.by(m.reviewed_by)}`}
              </p>
            </div>
            <div className="btns">
              {m.listing_id !== other && (
                <button className="btn" onClick={() => compare([other, m.listing_id])}>
                  {t.compare}
                </button>
              )}
              {(m.listing_id === h.shown ? [] : (['same', 'different', 'show'] as const)).map((verdict) => (
                <Do
                  key={verdict}
                  disabled={tell.isPending}
                  onClick={() => tell.mutate({ id: h.id, listing_id: m.listing_id, verdict })}
                >
                  {t[verdict]}
                </Do>
              ))}
            </div>
          </div>
        ))}
      <Verdicts of={h.verdicts} members={h.members} />
      {pair && <Compare pair={pair} onClose={() => compare(undefined)} />}
    </>
  )
}

/** A Verdict is what a person said of an advert; one that was said in this page just now has no time and no reviewer. */
export type Verdict = Pick<Schemas['HomeVerdict'], 'number' | 'listing_id' | 'verdict'> &
  Partial<Schemas['HomeVerdict']>

/** undoable is the number of the only decision of a home that can be undone: the latest that stands. */
export const undoable = (verdicts: Verdict[]) => verdicts.find((v) => !v.undone_at)?.number

/** Verdicts are what persons said of adverts of a home, the newest first. */
export function Verdicts({ of, members }: { of: Verdict[]; members: Schemas['HomeAdvert'][] }) {
  const { say } = useSay()
  const t = say.duplicate
  const undo = useDo(undoVerdict, ...stale)
  return (
    <>
      <Trouble error={undo.error} />
      {of.map((v) => {
        const about = members.find((m) => m.listing_id === v.listing_id)
        return (
          <p key={v.number} className="mu">
            {v.at && <At at={v.at} />} {t.decision(v.number)}:{' '}
            <ToPage className="s" to="/listings/$id" of={v.listing_id}>
              {about?.title || about?.platform_id || v.listing_id}
            </ToPage>
            , {t.verdicts[v.verdict]} {v.reviewer && t.by(v.reviewer)}{' '}
            {v.undone_at || (undo.isSuccess && undo.variables === v.number)
              ? t.undone
              : v.number === undoable(of) && (
                  <Do className="btn q" disabled={undo.isPending} onClick={() => undo.mutate(v.number)}>
                    {t.undo}
                  </Do>
                )}
          </p>
        )
      })}
    </>
  )
}

const compared = [
  'title',
  'rent',
  'rooms',
  'bedrooms',
  'area_sqft',
  'address',
  'available',
  'pets',
  'parking',
  'description',
]

/** Compare shows two adverts side by side; rows that differ stand out. */
function Compare({ pair, onClose }: { pair: [string, string]; onClose: () => void }) {
  const { say } = useSay()
  const t = say.duplicate
  const both = [useListing(pair[0]), useListing(pair[1])]
  const value = (a: Schemas['Advert'] | undefined, field: string) => {
    const d = a?.details as Record<string, unknown> | undefined
    if (field === 'rent') return d?.rent_cents ? money(Number(d.rent_cents)) : ''
    if (field === 'rooms') return d?.rooms ? rooms(Number(d.rooms)) : ''
    return flat(d?.[field], say)
  }
  return (
    <Ask title={t.compare} onClose={onClose}>
      <h2>{t.compare}</h2>
      <Trouble error={both[0]!.error ?? both[1]!.error} />
      <div className="pictures-beside">
        {both.map((b, i) => (
          <div key={pair[i]}>
            <p className="mu">
              {b.data?.audit.platform} <span className="m">{b.data?.audit.platform_id}</span>
            </p>
            <div className="strip">
              {b.data?.images
                .slice(0, 8)
                .map(
                  (one, n) =>
                    (one.thumbnail_key ?? one.key) && (
                      <img
                        key={n}
                        loading="lazy"
                        alt={say.listing.picture(n + 1, b.data!.images.length)}
                        src={`/images/${encodeURIComponent((one.thumbnail_key ?? one.key)!)}`}
                      />
                    ),
                )}
            </div>
          </div>
        ))}
      </div>
      <div className="scroll" tabIndex={0} role="region" aria-label={t.compare}>
        <table className="beside">
          <tbody>
            {compared.map((field) => {
              const [a, b] = both.map((one) => value(one.data, field))
              if (!a && !b) return null
              return (
                <tr key={field} className={a === b ? '' : 'differs'}>
                  <th scope="row">
                    {named(say.code.field, field)} {a !== b && <span className="aside">{t.differs}</span>}
                  </th>
                  <td className="s wrap">{a}</td>
                  <td className="s wrap">{b}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <p className="btns">
        <Close onClick={onClose} />
      </p>
    </Ask>
  )
}
