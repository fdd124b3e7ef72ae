import { lazy, Suspense, useState } from 'react'

import { useListingCount, useListings, useNeighbourhoods, usePlatforms } from '../api/queries'
import { count, money, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { FilterBar, Nothing, useFilters } from '../ui/Filter'
import { writeSearch } from '../ui/filters'
import { Glyph } from '../ui/Glyph'
import { Do } from '../ui/Do'
import { useShortcuts } from '../ui/keys'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import { Reading } from '../ui/Unread'
import { Cards } from './Cards'
import { listingFields, notFilters } from './filters'
import { listingGlyph } from './glyph'
import { NewSearch } from './NewSearch'
import './listings.css'

const Atlas = lazy(() => import('./Atlas')) // with OpenLayers, which is as large as all the rest

/** Listings are the homes that are offered: as a table, on a map, or by their pictures. */
export function Listings() {
  const { say, language } = useSay()
  const t = say.listing
  const [address, change] = useFilters()
  const { view = '', tenant: _, ...filters } = address
  const { sort: __, ...which } = filters
  const fields = listingFields(say, usePlatforms().data?.items ?? [], useNeighbourhoods(false).data?.items ?? [])
  const known = Object.keys(filters).every((name) => fields.some((f) => f.name === name)) // or nothing is asked
  const listings = useListings({ status: 'active', ...filters }, known && view !== 'map')
  const found = useListingCount(which, known).data
  const [saving, setSaving] = useState(false)
  const show = (v: string) => change({ view: v })
  useShortcuts([{ keys: 'm', what: t.views.toggle, act: () => show(view === 'map' ? '' : 'map') }])
  return (
    <>
      <Head
        title={t.title}
        actions={
          <>
            <Do onClick={() => setSaving(true)}>{say.saved.create} …</Do>
            <a className="btn" href={'/listings/export' + writeSearch({ ...which, format: 'csv' })} download>
              CSV
            </a>
            <span className="seg" role="group" aria-label={t.views.title}>
              {(['', 'map', 'cards'] as const).map((v) => (
                <button key={v} aria-pressed={view === v} onClick={() => show(v)}>
                  {t.views[v || 'table']}
                </button>
              ))}
            </span>
          </>
        }
      >
        <p>
          {t.intro} {found && <b>{t.found(found.count, count(found.count, language), found.exact)}.</b>}
        </p>
      </Head>
      {saving && <NewSearch filters={which} fields={fields} onClose={() => setSaving(false)} />}
      <FilterBar fields={fields} also={notFilters} />
      {!known ? null : view === 'map' ? (
        <Suspense fallback={<Reading />}>
          <Atlas filters={which} onBox={(bbox) => change({ bbox })} />
        </Suspense>
      ) : view === 'cards' ? (
        <Cards pages={listings} filters={address} empty={<Nothing fields={fields} never={t.never} />} />
      ) : (
        <Rows
          label={t.title}
          className="listings"
          pages={listings}
          id={(l) => l.id}
          empty={<Nothing fields={fields} never={t.never} />}
          columns={[
            {
              name: 'title',
              head: t.advert,
              className: 'cut',
              cell: (l) => (
                <>
                  <Glyph state={listingGlyph[l.status]!} />
                  <ToPage className="s" to="/listings/$id" of={l.id} search={address}>
                    {l.title}
                  </ToPage>
                </>
              ),
            },
            { name: 'rent', head: t.rent, className: 'r', cell: (l) => <b>{money(l.rent_cents)}</b> },
            {
              name: 'rooms',
              head: t.rooms,
              className: 'r',
              cell: (l) => (l.rooms ? rooms(l.rooms) : l.bedrooms === 0 ? t.studio : ''),
            },
            { name: 'bedrooms', head: t.bedrooms, className: 'r', cell: (l) => l.bedrooms || '' },
            {
              name: 'place',
              head: t.place,
              className: 'gap',
              cell: (l) => <span className="i">{l.neighbourhood_name ?? l.address}</span>,
            },
            { name: 'platform', head: t.platform, cell: (l) => <span className="mu n">{l.platform}</span> },
            { name: 'updated', head: t.updated, className: 'r', cell: (l) => <Age at={l.updated_at} /> },
          ]}
        />
      )}
    </>
  )
}
