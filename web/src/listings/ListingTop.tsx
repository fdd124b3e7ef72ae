import { useState } from 'react'

import type { Schemas } from '../api/client'
import { claimListing, processListing, useDo } from '../api/queries'
import { count, day, money, named, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { Glyph } from '../ui/Glyph'
import { Copy, Crumb, Head, InTemporal, Options, Out, Trouble } from '../ui/parts'
import { advertGlyph, listingGlyph } from './glyph'
import { Within } from './Within'

type Advert = Schemas['Advert']
type Stage = NonNullable<Schemas['ProcessStart']['stage']>

/** Top is what a person looks for first: the name, the facts, the rent, and what can be done. */
export function Top({ advert: a }: { advert: Advert }) {
  const { say, language } = useSay()
  const t = say.listing
  const l = a.listing
  const d = a.details
  const included = Object.entries(d?.utilities ?? {})
    .filter(([, v]) => v === true)
    .map(([name]) => named(say.code.field, name))
  return (
    <>
      <Head
        crumbs={
          <>
            <Crumb to="/listings">{t.title}</Crumb> {a.audit.platform} <span aria-hidden="true">›</span>
            <Copy text={a.audit.platform_id} /> <Within id={a.id} />
          </>
        }
        title={l?.title ?? d?.title ?? a.audit.platform_id}
        actions={<Rent advert={a} />}
      >
        <div className="facts">
          <span>
            <Glyph state={l ? listingGlyph[l.status]! : (advertGlyph[a.audit.status] ?? 'changed')} />
            <b>{l ? t.statuses[l.status] : named(say.replay.statuses, a.audit.status)}</b>,{' '}
            <Age at={a.audit.last_scraped_at} />
          </span>
          {l?.rooms && (
            <span>
              <b>{rooms(l.rooms)}</b> {t.rooms.toLowerCase()}
            </span>
          )}
          {(l ?? d) && (
            <span>
              <b>{(l ?? d)!.bedrooms}</b> {t.bedrooms.toLowerCase()}
            </span>
          )}
          {l?.bathrooms && (
            <span>
              <b>{l.bathrooms}</b> {t.bathrooms(l.bathrooms)}
            </span>
          )}
          {l?.area_sqft && (
            <span>
              <b>{count(l.area_sqft, language)}</b> {t.sqft}
            </span>
          )}
          {included.length > 0 && (
            <span>
              {included.join(', ')} <b>{t.included}</b>
            </span>
          )}
          {d?.available && (
            <span>
              {t.free}{' '}
              <b>{/^\d{4}-\d\d-\d\d$/.test(d.available) ? day(new Date(d.available), 'UTC', language) : d.available}</b>
            </span>
          )}
          {l && <span className="i">{[l.address, l.neighbourhood_name, l.borough].filter(Boolean).join(', ')}</span>}
        </div>
      </Head>
    </>
  )
}

/** Rent is what the home costs, and what can be done with the advert. */
function Rent({ advert: a }: { advert: Advert }) {
  const { say, language, zone } = useSay()
  const change = a.history.findLast((h) => h.kind === 'price' && h.old_rent_cents != null && h.new_rent_cents != null)
  const by = change ? change.new_rent_cents! - change.old_rent_cents! : 0
  const t = say.listing
  const process = useDo(processListing, 'listing', 'adverts')
  const [stage, setStage] = useState<Stage>('normalize')
  const claim = useDo(claimListing, 'listing', 'listings')
  const ref = { platform: a.audit.platform, platform_id: a.audit.platform_id }
  const l = a.listing
  return (
    <div className="rent">
      {l && (
        <>
          <div className="big">{money(l.rent_cents)}</div>
          <p>
            {t.aMonth}
            {change && by !== 0 && (
              <>
                ;{' '}
                <b className={by < 0 ? 'verd' : ''}>
                  {t.since(money(Math.abs(by)), by < 0, day(new Date(change.at), zone, language))}
                </b>
              </>
            )}
            {a.rent_comparison && (
              <>
                ;{' '}
                <b className={a.rent_comparison.percent < 0 ? 'verd' : ''}>
                  {t.median(
                    `${a.rent_comparison.percent > 0 ? '+' : '−'}${Math.abs(a.rent_comparison.percent)} %`,
                    a.rent_comparison.place || t.otherCities,
                  )}
                </b>
              </>
            )}
          </p>
        </>
      )}
      <div className="btns">
        <select
          className="in"
          aria-label={t.processFrom}
          value={stage}
          onChange={(e) => setStage(e.target.value as Stage)}
        >
          <Options of={Object.entries(t.from)} />
        </select>
        <Do disabled={process.isPending} onClick={() => process.mutate({ ...ref, stage })}>
          {process.isSuccess ? t.started : t.processAgain}
        </Do>
        {l && (
          <Do disabled={claim.isPending} onClick={() => claim.mutate({ ...ref, claim: l.status !== 'claimed' })}>
            {l.status === 'claimed' ? t.unclaim : t.claim}
          </Do>
        )}
        <span className="btn original">
          <Out href={a.audit.url} />
        </span>
        <InTemporal workflow={a.workflow} button />
      </div>
      <Trouble error={process.error ?? claim.error} />
    </div>
  )
}
