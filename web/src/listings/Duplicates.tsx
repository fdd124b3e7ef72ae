import type { Schemas } from '../api/client'
import { useDuplicates } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Head, Section, Trouble } from '../ui/parts'
import { useReadOn } from '../ui/readOn'
import { NoRows } from '../ui/Rows'
import './listings.css'
import { Members } from './SameHome'

/** Duplicates are the homes that have several adverts. What a person says of them is never overruled by a rule. */
export function Duplicates() {
  const { say } = useSay()
  const t = say.duplicate
  const [filters] = useFilters()
  const homes = useDuplicates(filters)
  const rows = homes.data?.pages.flatMap((p) => p.items) ?? []
  useReadOn(homes, rows.length === 0)
  const fields: Field[] = [
    {
      name: 'kind',
      label: t.kind,
      several: true,
      options: Object.entries(t.kinds).map(([value, label]) => ({ value, label })),
    },
    { name: 'listing', label: t.ofListing, kind: 'set' },
    {
      name: 'reviewed',
      label: t.reviewed,
      options: [
        { value: 'yes', label: say.listing.yes },
        { value: 'no', label: say.listing.no },
      ],
    },
  ]
  return (
    <>
      <Head title={t.title}>
        <p>{t.intro}</p>
      </Head>
      <FilterBar fields={fields} />
      {rows.length === 0 ? (
        <NoRows pages={homes} empty={<Nothing fields={fields} never={t.never} />} />
      ) : (
        <Trouble error={homes.error} again={() => void homes.refetch()} />
      )}
      {rows.map((h) => (
        <Home key={h.id} home={h} />
      ))}
      {rows.length > 0 && homes.hasNextPage && (
        <button className="btn" disabled={homes.isFetchingNextPage} onClick={() => void homes.fetchNextPage()}>
          {say.more}
        </button>
      )}
    </>
  )
}

function Home({ home: h }: { home: Schemas['Home'] }) {
  const { say } = useSay()
  const shown = h.members.find((m) => m.listing_id === h.shown)
  return (
    <Section
      title={shown?.title || h.id}
      note={
        <>
          {say.duplicate.adverts(h.members.length)}, <Age at={h.updated_at} />
        </>
      }
    >
      <Members home={h} />
    </Section>
  )
}
