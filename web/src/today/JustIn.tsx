import { memo, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { useRecent } from '../api/queries'
import { count, money, named, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { Glyph, type State } from '../ui/Glyph'
import { usePlace, useReading } from '../ui/keep'
import { useShortcuts } from '../ui/keys'
import { Empty, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'

type Item = Schemas['Feed']['items'][number]

const glyph: Record<Item['kind'], State> = {
  new: 'done',
  changed: 'changed',
  back: 'done',
  archived: 'idle',
  refused: 'failed',
  twin: 'twin',
}

const shown = 24 // rows

/** JustIn is what happened to adverts, the newest first. New rows wait while somebody reads, or space holds them. */
export function JustIn() {
  const { say, language } = useSay()
  const t = say.today
  const [held, hold] = useState(false)
  const recent = useRecent()
  const feed = useRef<HTMLTableElement>(null)
  const reading = useReading(feed, 46) // px: the line at the top of the page
  const place = usePlace(recent.data?.items ?? [], (r) => String(r.seq), held || reading, 'feed')
  useShortcuts([{ keys: ' ', what: t.hold, act: () => hold((was) => !was) }])
  const rows = place.rows.slice(0, shown)
  return (
    <Section
      title={t.justIn}
      note={
        <span className="legend">
          {(['new', 'changed', 'twin', 'refused', 'archived'] as const).map((kind) => (
            <span key={kind}>
              <Glyph state={glyph[kind]} />
              {t.kinds[kind]}
            </span>
          ))}
        </span>
      }
      go={
        <>
          {place.waiting > 0 && (
            <button className="btn" onClick={place.show}>
              {say.newRows(place.waiting, count(place.waiting, language))}
            </button>
          )}
          <button className="btn q" aria-pressed={held} onClick={() => hold(!held)}>
            {held ? t.held : t.hold} <kbd>{say.space}</kbd>
          </button>
        </>
      }
      wide
    >
      <Trouble error={recent.error} />
      {recent.data && rows.length === 0 && <Empty>{say.listing.never}</Empty>}
      <table className="feed" ref={feed}>
        <colgroup>
          {Array.from({ length: 7 }, (_, i) => (
            <col key={i} />
          ))}
        </colgroup>
        <tbody>
          {/* By place, not by advert: what has moved down is written anew, but no row is made. */}
          {rows.map((r, i) => (
            <Row key={i} row={r} />
          ))}
        </tbody>
      </table>
    </Section>
  )
}

/** Row is drawn again only when what it says changes: each answer has rows of its own, most of them those from before. */
const Row = memo(
  function Row({ row: r }: { row: Item }) {
    const { say } = useSay()
    const t = say.today
    return (
      <tr>
        <td className="t">
          <At at={r.at} />
        </td>
        <td>
          <Glyph state={glyph[r.kind]} />
          <span className="aside">{t.kinds[r.kind]}</span>
        </td>
        <td className="s cut">
          <ToPage to="/listings/$id" of={r.listing_id}>
            {r.title || r.platform_id}
          </ToPage>
        </td>
        <td className="r">
          {r.old_rent_cents != null && r.old_rent_cents !== r.rent_cents && (
            <>
              <s>{money(r.old_rent_cents)}</s>{' '}
            </>
          )}
          {r.rent_cents != null && money(r.rent_cents)}
        </td>
        <td className="m2">{r.rooms ? rooms(r.rooms) : r.bedrooms === 0 ? say.listing.studio : ''}</td>
        <td className={r.kind === 'refused' ? 'verm' : 'i'}>
          {r.kind === 'refused' ? (
            r.codes?.map((c) => named(say.code.reason, c)).join(', ')
          ) : r.kind === 'twin' && r.twin_of ? (
            <ToPage className="mu" to="/listings/$id" of={r.twin_of}>
              {t.twinOf}
            </ToPage>
          ) : (
            r.neighbourhood_name
          )}
        </td>
        <td className="r mu n">{r.platform}</td>
      </tr>
    )
  },
  (was, is) => JSON.stringify(was.row) === JSON.stringify(is.row),
)
