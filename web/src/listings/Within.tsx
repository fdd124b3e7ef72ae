import { useNavigate } from '@tanstack/react-router'

import { useAdverts, useListingCount, useListings, useNeighbourhoods, usePlatforms, type Filters } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { useFilters } from '../ui/Filter'
import { useShortcuts } from '../ui/keys'
import { useReadOn } from '../ui/readOn'
import { ToPage } from '../ui/ToPage'
import { inWords, listingFields } from './filters'

/** useList is the list that an advert was opened from: its address has the filters of that list. */
function useList(id: string) {
  const [address] = useFilters()
  const { view: _, tenant: __, from, ...filters } = address
  const refused = from === 'refused'
  const listings = useListings({ status: 'active', ...filters }, !refused)
  const adverts = useAdverts(filters, refused)
  const pages = refused ? adverts : listings
  const ids = refused
    ? (adverts.data?.pages.flatMap((p) => p.items.map((a) => a.listing_id)) ?? [])
    : (listings.data?.pages.flatMap((p) => p.items.map((l) => l.id)) ?? [])
  const at = ids.indexOf(id)
  useReadOn(pages, at >= 0 && at >= ids.length - 2)
  return { address, filters, refused, at, before: ids[at - 1], after: at < 0 ? undefined : ids[at + 1] }
}

/** Within says which of its list an advert is, and leads to the next and the one before. */
export function Within({ id }: { id: string }) {
  const { say, language } = useSay()
  const t = say.listing.within
  const navigate = useNavigate()
  const list = useList(id)
  const { sort: _, ...which } = list.filters
  const total = useListingCount(which, !list.refused).data
  const fields = listingFields(say, usePlatforms().data?.items ?? [], useNeighbourhoods(false).data?.items ?? [])
  const go = (to: string | undefined) =>
    to && void navigate({ to: `/listings/${to}` as '/', search: list.address as never, resetScroll: false })
  useShortcuts([
    { keys: 'j', what: t.next, act: () => go(list.after) },
    { keys: 'k', what: t.previous, act: () => go(list.before) },
  ])
  if (list.at < 0) return null
  const { from: __, ...back } = list.address as Filters
  const words = list.refused ? Object.values(list.filters).join(', ') : inWords(list.filters, fields, say)
  return (
    <span className="within">
      {t.at(
        count(list.at + 1, language),
        list.refused || !total ? '' : (total.exact ? '' : '~') + count(Math.max(total.count, list.at + 1), language),
      )}{' '}
      <ToPage to={list.refused ? '/refused' : '/listings'} search={back}>
        <b>{words || (list.refused ? say.refused.title : say.listing.title)}</b>
      </ToPage>{' '}
      <button className="btn q" disabled={!list.before} aria-label={t.previous} onClick={() => go(list.before)}>
        <kbd>k</kbd>
      </button>
      <button className="btn q" disabled={!list.after} aria-label={t.next} onClick={() => go(list.after)}>
        <kbd>j</kbd>
      </button>
    </span>
  )
}
