import type { Schemas } from '../api/client'
import { useTenantList } from '../api/queries'
import { bytes, count } from '../say/format'
import { useSay, type Voice } from '../say/Say'
import { Age } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Empty, Head, InTemporal } from '../ui/parts'
import { Rows, type Column } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import './outreach.css'

type Tenant = Schemas['Tenant']

/** isFull reports whether a tenant has as many contacts as it may have, so that no more are imported. */
export const isFull = (t: Pick<Tenant, 'contacts' | 'max_contacts'>) =>
  t.max_contacts !== undefined && t.contacts >= t.max_contacts

/** Quotas are what a tenant may have at most; what is absent has no limit. */
const quotas = ({ say, language }: Voice): Column<Tenant>[] => {
  const t = say.outreach.quotas
  const of = (
    name: keyof typeof t.heads,
    value: (one: Tenant) => number | undefined,
    write = count,
  ): Column<Tenant> => ({
    name,
    head: t.heads[name],
    className: 'r',
    cell: (one) => {
      const most = value(one)
      return most === undefined ? <span className="mu">{t.none}</span> : write(most, language)
    },
  })
  return [
    of('messages', (one) => one.max_messages_day),
    of('searches', (one) => one.max_searches),
    of('targets', (one) => one.max_targets),
    of('notices', (one) => one.max_notices_day),
    of('lists', (one) => one.max_lists),
    of('segments', (one) => one.max_segments),
    of('conditions', (one) => one.max_conditions),
    of('bytes', (one) => one.max_bytes, bytes),
  ]
}

/** Tenants are the customers whose messages are sent: what each has, and what it may have. */
export function Tenants() {
  const voice = useSay()
  const { say, language } = voice
  const t = say.outreach
  const tenants = useTenantList()
  const n = (v: number) => count(v, language)
  return (
    <>
      <Head title={say.nav.tenants}>
        <p>{t.tenantsIntro}</p>
      </Head>
      <Rows
        label={say.nav.tenants}
        pages={tenants}
        id={(one) => one.id}
        empty={<Empty>{t.noTenants}</Empty>}
        columns={[
          {
            name: 'name',
            head: t.name,
            cell: (one) => (
              <>
                <Glyph state={one.state === 'stopped' || isFull(one) ? 'look' : 'done'} />
                <ToPage to="/campaigns" search={{ tenant: one.id }}>
                  {one.name}
                </ToPage>{' '}
                <span className="m mu">{one.id}</span>
              </>
            ),
          },
          {
            name: 'state',
            head: t.state,
            className: 'wrap',
            cell: (one) => (
              <>
                {t.tenantStates[one.state]}
                {one.stopped_reason && (
                  <>
                    : <bdi>{one.stopped_reason}</bdi>
                  </>
                )}
              </>
            ),
          },
          { name: 'tier', head: t.tier, cell: (one) => `${t.tiers[one.tier]}, ${t.perSecond(n(one.per_second))}` },
          {
            name: 'contacts',
            head: say.nav.contacts,
            className: 'r',
            cell: (one) => (
              <ToPage className={isFull(one) ? 'ochr' : undefined} to="/contacts" search={{ tenant: one.id }}>
                {one.max_contacts === undefined ? n(one.contacts) : say.doneOf(n(one.contacts), n(one.max_contacts))}
              </ToPage>
            ),
          },
          ...quotas(voice),
          { name: 'changed', head: say.listing.updated, className: 'r', cell: (one) => <Age at={one.updated_at} /> },
          {
            name: 'steps',
            head: <span className="aside">{say.inTemporal}</span>,
            className: 'gap',
            cell: (one) => <InTemporal workflow={one.workflow} />,
          },
        ]}
      />
    </>
  )
}
