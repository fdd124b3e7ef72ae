import { useDrafts } from '../api/queries'
import { named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { anyOf, FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { startOf } from '../ui/filters'
import { Glyph } from '../ui/Glyph'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import './drafts.css'

/** Drafts are the product pages that were read. */
export function Drafts() {
  const { say, zone } = useSay()
  const t = say.draft
  const [filters] = useFilters()
  const drafts = useDrafts({ ...filters, since: startOf(filters.since, zone) })
  const fields: Field[] = [
    { name: 'name', label: t.name },
    anyOf('outcome', t.outcome, t.outcomes),
    { name: 'host', label: t.host, several: true },
    { name: 'url', label: t.url },
    { name: 'brand', label: t.brand, several: true },
    { name: 'sku', label: 'SKU', several: true },
    { name: 'gtin', label: 'GTIN', several: true },
    anyOf('availability', t.availability, t.availabilities),
    { name: 'since', label: t.since, kind: 'date' },
  ]
  return (
    <>
      <Head
        title={t.title}
        actions={
          <ToPage className="btn" to="/drafts/requests">
            {t.request} …
          </ToPage>
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
                <ToPage className="s" to="/drafts/$id" of={d.id}>
                  {d.name || d.url}
                </ToPage>
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
