import { Link } from '@tanstack/react-router'

import { useDrafts } from '../api/queries'
import { named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { startOf } from '../ui/filters'
import { Glyph } from '../ui/Glyph'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import './drafts.css'

/** Drafts are the product pages that were read. */
export function Drafts() {
  const { say, zone } = useSay()
  const t = say.draft
  const [filters] = useFilters()
  const drafts = useDrafts({ ...filters, since: startOf(filters.since, zone) })
  const fields: Field[] = [
    { name: 'name', label: t.name },
    {
      name: 'outcome',
      label: t.outcome,
      several: true,
      options: Object.entries(t.outcomes).map(([value, label]) => ({ value, label })),
    },
    { name: 'host', label: t.host, several: true },
    { name: 'url', label: t.url },
    { name: 'brand', label: t.brand, several: true },
    { name: 'sku', label: 'SKU', several: true },
    { name: 'gtin', label: 'GTIN', several: true },
    {
      name: 'availability',
      label: t.availability,
      several: true,
      options: Object.entries(t.availabilities).map(([value, label]) => ({ value, label })),
    },
    { name: 'since', label: t.since, kind: 'date' },
  ]
  return (
    <>
      <Head
        title={t.title}
        actions={
          <Link className="btn" to={'/drafts/requests' as '/'}>
            {t.request} …
          </Link>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <FilterBar fields={fields} />
      <Rows
        label={t.title}
        className="named"
        pages={drafts}
        id={(d) => d.id}
        empty={<Nothing fields={fields} never={t.never} />}
        columns={[
          {
            name: 'picture',
            head: <span className="aside">{t.picture}</span>,
            className: 'thumb',
            cell: (d) => {
              const shot = d.files.find((f) => /\.(png|jpe?g|webp)$/.test(f.name))
              return (
                shot && (
                  <img
                    src={`/drafts/${encodeURIComponent(d.id)}/files/${encodeURIComponent(shot.name)}`}
                    alt=""
                    loading="lazy"
                    decoding="async"
                  />
                )
              )
            },
          },
          {
            name: 'name',
            head: t.name,
            className: 'cut',
            cell: (d) => (
              <>
                <Glyph state={d.outcome === 'succeeded' ? 'done' : 'failed'} />
                <Link className="s" to={'/drafts/$id' as '/'} params={{ id: d.id } as never}>
                  {d.name || d.url}
                </Link>
              </>
            ),
          },
          {
            name: 'price',
            head: t.price,
            className: 'r',
            cell: (d) => d.price && <b>{`${d.price} ${d.currency ?? ''}`}</b>,
          },
          {
            name: 'availability',
            head: t.availability,
            className: 'gap',
            cell: (d) => named(t.availabilities, d.availability ?? ''),
          },
          { name: 'brand', head: t.brand, cell: (d) => d.brand },
          { name: 'error', head: t.error, className: 'cut', cell: (d) => <span className="verm">{d.error}</span> },
          { name: 'crawled', head: t.crawled, className: 'r', cell: (d) => <Age at={d.crawled_at} /> },
        ]}
      />
    </>
  )
}
