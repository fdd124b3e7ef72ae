import type { Schemas } from '../api/client'
import { covers, useReport, useSession, type Role } from '../api/queries'
import { count, named, place } from '../say/format'
import { useSay } from '../say/Say'
import { Glyph } from '../ui/Glyph'
import { ToPage } from '../ui/ToPage'
import { Caller, Clock, Language } from './Top'

export interface Place {
  to: string
  name: string
  key?: string
  count?: number
  hot?: boolean
  tenants?: boolean // keys of a tenant may read it
  role?: Role // that may read it; absent = read
}

interface Group {
  head?: string
  places: Place[]
}

/** reachable are the pages that a caller may read by its role; a key of a tenant is refused all but those of the tenant. */
export const reachable = (groups: Group[], caller: { tenant?: string; role?: Role } | undefined) =>
  groups
    .map((g) => ({
      ...g,
      places: g.places.filter((p) => (!caller?.tenant || p.tenants) && covers(caller?.role, p.role ?? 'read')),
    }))
    .filter((g) => g.places.length > 0)

const countsOf = (r: Schemas['Report']) => ({
  dead: r.dead_letters.reduce((sum, d) => sum + d.open, 0),
  bad: r.platforms.filter((p) => p.state === 'blocked' || p.state === 'suspect').length,
  running: r.crawls.running + r.crawls.paused,
})

const servicesOf = (r: Schemas['Report']) => r.services

/** usePlaces are the pages of the rail, with the counts that are worth a look. */
export function usePlaces(): Group[] {
  const { say } = useSay()
  const { dead, bad, running } = useReport(countsOf).data ?? {}
  const caller = useSession().data?.caller
  const n = say.nav
  const groups: Group[] = [
    { places: [{ to: '/', name: n.today, key: 't' }] },
    {
      head: n.listings,
      places: [
        { to: '/listings', name: n.listings, key: 'l' },
        { to: '/refused', name: n.refused, key: 'r' },
        { to: '/duplicates', name: n.duplicates },
        { to: '/platforms', name: n.platforms, key: 'p', count: bad, hot: true },
        { to: '/replays', name: n.replays },
        { to: '/searches', name: n.savedSearches, tenants: true },
      ],
    },
    { head: n.crawl, places: [{ to: '/crawl', name: n.runs, key: 'c', count: running }] },
    { head: n.search, places: [{ to: '/search', name: n.pages, key: 's' }] },
    {
      head: n.drafts,
      places: [
        { to: '/drafts', name: n.drafts, key: 'd' },
        { to: '/drafts/requests', name: n.requests },
      ],
    },
    {
      head: n.outreach,
      places: [
        { to: '/uploads', name: n.uploads, key: 'u', tenants: true },
        { to: '/campaigns', name: n.campaigns, tenants: true },
        { to: '/messages', name: n.messages, tenants: true },
        { to: '/contacts', name: n.contacts, tenants: true },
        { to: '/tenants', name: n.tenants, role: 'operate' },
      ],
    },
    {
      head: n.operations,
      places: [
        { to: '/queues', name: n.queues, key: 'q' },
        { to: '/dead-letters', name: n.deadLetters, key: 'x', count: dead, hot: true },
        { to: '/activity', name: n.activity, role: 'admin' },
        { to: '/keys', name: n.keys, role: 'admin' },
      ],
    },
  ]
  return reachable(groups, caller)
}

/** Rail leads to every page. On a telephone it is a menu above the page, which a link in it closes. */
export function Rail({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { say, language, zone, toggleZone } = useSay()
  const services = useReport(servicesOf).data
  const { links, caller } = useSession().data ?? {}
  return (
    <div
      className={open ? 'rail open' : 'rail'}
      onClick={(e) => e.target instanceof Element && e.target.closest('a') && onClose()}
    >
      <ToPage to="/" className="brand">
        <svg viewBox="0 0 26 16" width="26" height="16" fill="none" aria-hidden="true">
          <path d="M4 8h18" stroke="var(--ink)" strokeWidth="2.4" />
          <circle cx="4" cy="8" r="2.9" fill="var(--ink)" />
          <circle cx="13" cy="8" r="3" fill="var(--paper)" stroke="var(--ink)" strokeWidth="2" />
          <circle cx="22" cy="8" r="2.9" fill="var(--verdg)" />
        </svg>
        Conveyor
      </ToPage>
      <nav aria-label={say.nav.label} id="rail">
        {usePlaces().map((group) => (
          <div key={group.head ?? ''}>
            {group.head && <h3>{group.head}</h3>}
            {group.places.map((p) => (
              <ToPage
                key={p.to}
                to={p.to}
                activeOptions={{ exact: p.to === '/' || p.to === '/drafts', includeSearch: false }}
              >
                {p.name}
                {!!p.count && <em className={p.hot ? 'hot' : undefined}>{count(p.count, language)}</em>}
              </ToPage>
            ))}
          </div>
        ))}
      </nav>
      {open && ( // on a telephone, where the line at the top has no place for them
        <div className="svc">
          <button className="ib" title={say.nav.zone} onClick={toggleZone}>
            <Clock /> {place(zone)}
          </button>{' '}
          <Language /> <Caller />
        </div>
      )}
      <div className="svc">
        {services && (
          <ul className="sv" aria-label={say.queue.services}>
            {Object.entries(services).map(([name, state]) => (
              <li key={name} title={named(say.code.service, String(state))}>
                <Glyph state={state === 'ok' ? 'done' : 'failed'} />
                {name}
                {state !== 'ok' && <span className="aside"> {named(say.code.service, String(state))}</span>}
              </li>
            ))}
          </ul>
        )}
        {links &&
          (
            [
              ['Temporal', links.temporal],
              ['RabbitMQ', links.rabbitmq],
              ['Grafana', links.grafana],
              ['API', links.docs],
            ] as const
          ).map(
            ([name, href]) =>
              href && (
                <a key={name} href={href} target="_blank" rel="noreferrer noopener">
                  {name} ↗{' '}
                </a>
              ),
          )}
        {!caller?.tenant && (
          <p>
            <ToPage to="/licences">{say.licences.title}</ToPage>
          </p>
        )}
      </div>
    </div>
  )
}
