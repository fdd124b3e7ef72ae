import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import type { Filters } from '../api/queries'
import { count, money, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Trouble } from '../ui/parts'
import { useReadOn } from '../ui/readOn'
import { NoRows, type Pages } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import { listingGlyph } from './glyph'

type Summary = Schemas['ListingSummary']

const [width, height] = [216, 268] // px of a card with its gap; the width is the least

/** Cards are the listings by their pictures. As in a table, only those near the window are in the document. */
export function Cards(p: { pages: Pages<Summary>; filters: Filters; empty: ReactNode }) {
  const { say, language } = useSay()
  const top = useRef<HTMLUListElement>(null)
  const [across, setAcross] = useState(4)
  const rows = p.pages.data?.pages.flatMap((one) => one.items) ?? []
  const any = rows.length > 0
  useLayoutEffect(() => {
    const list = top.current
    if (!list) return
    const measure = () => setAcross(Math.max(1, Math.floor((list.clientWidth + 16) / width)))
    const watch = new ResizeObserver(measure)
    watch.observe(list)
    measure()
    return () => watch.disconnect()
  }, [any])
  const window = useWindowVirtualizer({
    count: Math.ceil(rows.length / across),
    estimateSize: () => height,
    overscan: 2,
    scrollMargin: top.current?.offsetTop ?? 0,
  })
  const shown = window.getVirtualItems()
  const last = ((shown.at(-1)?.index ?? 0) + 1) * across
  const { hasNextPage, isFetchingNextPage } = p.pages
  useReadOn(p.pages, last >= rows.length - 20)

  if (!any) return <NoRows pages={p.pages} empty={p.empty} />
  return (
    <>
      <Trouble error={p.pages.error} again={() => void p.pages.refetch()} />
      <ul
        ref={top}
        className={p.pages.isPlaceholderData ? 'cards dim' : 'cards'}
        style={{ height: window.getTotalSize() }}
      >
        {shown.flatMap((v) =>
          rows.slice(v.index * across, (v.index + 1) * across).map((l, i) => (
            <li
              key={l.id}
              style={{
                top: v.start - window.options.scrollMargin,
                left: `calc(${i} * (100% + 16px) / ${across})`,
                width: `calc((100% + 16px) / ${across} - 16px)`,
              }}
            >
              <Card listing={l} filters={p.filters} />
            </li>
          )),
        )}
      </ul>
      <p className="more mu" aria-live="polite">
        {isFetchingNextPage
          ? say.readingMore
          : hasNextPage
            ? say.listing.soFar(count(rows.length, language))
            : say.listing.found(rows.length, count(rows.length, language), true)}
      </p>
    </>
  )
}

function Card({ listing: l, filters }: { listing: Summary; filters: Filters }) {
  const { say } = useSay()
  const t = say.listing
  return (
    <ToPage className="card" data-row="" to="/listings/$id" of={l.id} search={filters}>
      {l.thumbnail ? (
        <img loading="lazy" src={`/images/${encodeURIComponent(l.thumbnail)}`} alt="" />
      ) : (
        <span className="no">{t.noPictures}</span>
      )}
      <span className="fact">
        <b>{money(l.rent_cents)}</b>
        <span>{l.rooms ? rooms(l.rooms) : l.bedrooms === 0 ? t.studio : t.bedroomsOf(l.bedrooms)}</span>
        <span className="mu">
          <Age at={l.updated_at} />
        </span>
      </span>
      <span className="s">{l.title}</span>
      <span className="fact">
        <Glyph state={listingGlyph[l.status]!} />
        <span className="aside">{t.statuses[l.status]}</span>
        <span className="i">{l.neighbourhood_name ?? l.address}</span>
        <span className="mu n">{l.platform}</span>
      </span>
    </ToPage>
  )
}
