import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useDuplicates } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { anyOf, FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Head, Section, Trouble } from '../ui/parts'
import { useReadOn } from '../ui/readOn'
import { NoRows } from '../ui/Rows'
import './listings.css'
import { Members, Verdicts, type Verdict } from './SameHome'

/** Duplicates are the homes that have several adverts. What a person says of them is never overruled by a rule. */
export function Duplicates() {
  const { say } = useSay()
  const t = say.duplicate
  const [filters] = useFilters()
  const homes = useDuplicates(filters)
  const rows = homes.data?.pages.flatMap((p) => p.items) ?? []
  useReadOn(homes, rows.length === 0)
  const asked = JSON.stringify(filters)
  const [kept, keep] = useState<Said & { asked: string }>()
  const said = kept?.asked === asked ? kept : undefined // other filters, another list
  const fields: Field[] = [
    anyOf('kind', t.kind, t.kinds),
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
      {withSaid(rows, said).map((h, at) => (
        <Home
          key={h.id}
          home={h}
          said={h === said?.home && !rows.includes(h) ? said.verdict : undefined}
          onSaid={(verdict) => keep({ home: h, at, verdict, asked })}
        />
      ))}
      {rows.length > 0 && homes.hasNextPage && (
        <button className="btn" disabled={homes.isFetchingNextPage} onClick={() => void homes.fetchNextPage()}>
          {say.more}
        </button>
      )}
    </>
  )
}

/** Said is what was said last in this page, and of which home, which was the at-th. */
export interface Said {
  home: Schemas['Home']
  at: number
  verdict: Verdict
}

/** withSaid are the homes that are listed, and the one that what was said took off the list: it is undone from there. */
export const withSaid = (rows: Schemas['Home'][], said?: Said) =>
  said && !rows.some((h) => h.id === said.home.id) ? rows.toSpliced(said.at, 0, said.home) : rows

function Home(p: { home: Schemas['Home']; said?: Verdict; onSaid: (verdict: Verdict) => void }) {
  const { home: h } = p
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
      {p.said ? <Verdicts of={[p.said]} members={h.members} /> : <Members home={h} onSaid={p.onSaid} />}
    </Section>
  )
}
