import { useParams } from '@tanstack/react-router'

import type { Schemas } from '../api/client'
import { useListing, useNeighbourhoods } from '../api/queries'
import { count, money, named } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Locator } from '../ui/Locator'
import { Copy, Crumb, Section } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import { Fields, Payload } from './Fields'
import { Happened } from './Happened'
import { Life } from './Life'
import './listings.css'
import { Top } from './ListingTop'
import { Pictures } from './Pictures'
import { SameHome } from './SameHome'
import { Way } from './Way'

type Advert = Schemas['Advert']

/** Listing is one advert: what was read of it, where each value came from, and what happened to it. */
export function Listing() {
  const { say, language } = useSay()
  const { id } = useParams({ strict: false }) as { id: string }
  const advert = useListing(id)
  const a = advert.data
  if (!a) return <Unread of={advert} title={id} crumbs={<Crumb to="/listings">{say.listing.title}</Crumb>} />
  const newest = [...a.audit.revisions].sort((x, y) => y.revision - x.revision)[0]
  const known = (
    <>
      <SameHome id={a.id} />
      <Section title={say.listing.ids}>
        <Identifiers advert={a} />
      </Section>
    </>
  )
  return (
    <div className="advert">
      <Top advert={a} />
      {a.audit.reasons.length > 0 && (
        <Section title={say.listing.why}>
          {a.audit.reasons.map((r) => (
            <p key={r.code + r.field}>
              <Glyph state="failed" />
              <b>{named(say.code.reason, r.code)}</b> {r.field && named(say.code.field, r.field)}{' '}
              <bdi lang="en">{r.message}</bdi>
            </p>
          ))}
          {a.audit.duplicate_of && (
            <p>
              {say.listing.duplicateOf}{' '}
              <ToPage to="/listings/$id" of={a.audit.duplicate_of} className="m">
                {a.audit.duplicate_of}
              </ToPage>
            </p>
          )}
        </Section>
      )}
      <div className="three">
        <Pictures key={a.id} images={a.images} />
        <Section
          title={say.listing.life}
          note={say.listing.lifeNote(a.audit.scrapes, count(a.audit.scrapes, language), a.audit.revisions.length)}
        >
          <Life advert={a} />
        </Section>
        <Where advert={a} />
      </div>
      <Way advert={a} />
      {a.details ? (
        <Fields key={a.id} details={a.details} revisions={a.audit.revisions}>
          {known}
        </Fields>
      ) : (
        known
      )}
      {a.enrichment && <Added advert={a} />}
      {!a.details && newest && (
        <Section title={say.listing.payload}>
          <Payload revision={newest} />
        </Section>
      )}
      <Happened advert={a} />
    </div>
  )
}

function Where({ advert: a }: { advert: Advert }) {
  const { say, language } = useSay()
  const t = say.listing
  const l = a.listing
  const districts = useNeighbourhoods(true).data?.items ?? []
  const own = districts.find((d) => d.key === l?.neighbourhood)
  const like = own?.rents.find((r) => r.bedrooms === l?.bedrooms)
  const at: [number, number] | undefined = l?.latitude != null ? [l.longitude!, l.latitude] : undefined
  return (
    <Section title={t.where} note={at && `${at[1].toFixed(5)}, ${at[0].toFixed(5)}`}>
      <Locator districts={districts} district={l?.neighbourhood} at={at} />
      <dl className="kv">
        {l?.neighbourhood_name && (
          <>
            <dt>{t.hood}</dt>
            <dd>
              <ToPage to="/listings" search={{ neighbourhood: l.neighbourhood }}>
                <span className="i">{l.neighbourhood_name}</span>
              </ToPage>
              {own && (
                <>
                  {', '}
                  {t.activeHere(own.active, count(own.active, language))}
                  {like && `, ${t.medianOf(money(like.median_rent_cents), like.bedrooms)}`}
                </>
              )}
            </dd>
          </>
        )}
        {a.rent_comparison && (
          <>
            <dt>{a.rent_comparison.place || t.otherCities}</dt>
            <dd>
              {money(a.rent_comparison.median_cents)} ({count(a.rent_comparison.sample, language)})
            </dd>
          </>
        )}
        <dt>{t.firstSeen}</dt>
        <dd>
          <At at={a.audit.first_scraped_at} />
        </dd>
        <dt>{t.lastSeen}</dt>
        <dd>
          <At at={a.audit.last_scraped_at} />
        </dd>
      </dl>
    </Section>
  )
}

/** Identifiers are what the advert is called elsewhere, to be copied. */
function Identifiers({ advert: a }: { advert: Advert }) {
  const { say } = useSay()
  const t = say.listing
  const newest = [...a.audit.revisions].sort((x, y) => y.revision - x.revision)[0]
  return (
    <dl className="kv">
      <dt>
        ID <kbd>y</kbd>
      </dt>
      <dd>
        <Copy text={a.id} isID />
      </dd>
      <dt>
        workflow <kbd>t</kbd>
      </dt>
      <dd>
        <Copy text={a.workflow.id} />
      </dd>
      {newest && (
        <>
          <dt>{t.contentHash}</dt>
          <dd>
            <Copy text={newest.content_hash} short={`${newest.content_hash.slice(0, 16)}…`} />,{' '}
            {t.revision(newest.revision)}
          </dd>
        </>
      )}
    </dl>
  )
}

function Added({ advert: a }: { advert: Advert }) {
  const { say, language } = useSay()
  const e = a.enrichment!
  if (e.facts.length + e.places.length === 0) return null
  return (
    <Section title={say.listing.enriched} note={e.attribution}>
      <dl className="kv">
        {e.facts.map((f) => (
          <div key={f.field + f.value} style={{ display: 'contents' }}>
            <dt>{named(say.code.fact, f.field)}</dt>
            <dd>
              <b>{f.value}</b> <span className="s m2">{f.text}</span>
            </dd>
          </div>
        ))}
        {e.places.map((p) => (
          <div key={p.kind + p.name} style={{ display: 'contents' }}>
            <dt>{p.kind}</dt>
            <dd>
              <span className="i">{p.name}</span>, {count(p.metres, language)} m
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
