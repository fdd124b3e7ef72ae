import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { sessionQuery, signOut, starting, useAway, useDo, useReport, useSession } from '../api/queries'
import { useHeardAt, useLost, useStream } from '../api/stream'
import { clock, count, named, place } from '../say/format'
import { keep, useSay } from '../say/Say'
import { useNow } from '../ui/Age'
import { Ask, Close } from '../ui/Ask'
import { Glyph } from '../ui/Glyph'
import { Trouble } from '../ui/parts'
import { hasRows, listen, useShortcuts, walk, within, type Shortcut } from '../ui/keys'
import { ToPage } from '../ui/ToPage'
import { anew, useTurn } from './caller'
import { Find } from './Find'
import { Help, singleOff } from './Help'
import { Login } from './Login'
import { lock, useLocked } from './refused'
import './shell.css'

/** Shell is what surrounds every page: the rail, the line at the top, the dialogs that keys open. */
export function Shell() {
  const { say } = useSay()
  const [menu, setMenu] = useState(false)
  const [dialog, setDialog] = useState<'find' | 'help'>()
  const locked = useLocked()
  const path = useRouterState({ select: (s) => s.location.pathname })
  const places = usePlaces().flatMap((g) => g.places)
  const main = useRef<HTMLElement>(null)
  const turn = useTurn()
  const session = useSession().data
  useStream(!!session && (!session.locked || !!session.caller) && !session.caller?.tenant)
  useEffect(() => setMenu(false), [path])
  const opened = useRouterState({ select: (s) => s.resolvedLocation?.pathname })
  const last = useRef(opened)
  useEffect(() => {
    // The link that was followed is gone with the page before: Tab goes on in the new one.
    if (last.current && last.current !== opened && document.activeElement === document.body)
      main.current?.focus({ preventScroll: true })
    last.current = opened
  }, [opened])
  useEffect(() => {
    if (session?.locked && !session.caller) lock(true)
  }, [session])
  useGlobalKeys(setDialog)
  return (
    <>
      <a className="skip btn" href="#main" onClick={() => main.current?.focus()}>
        {say.skipToContent}
      </a>
      <div className="shell">
        <Rail open={menu} />
        <div>
          <Top
            menu={menu}
            onMenu={() => setMenu(!menu)}
            onFind={() => setDialog('find')}
            onHelp={() => setDialog('help')}
          />
          <Away />
          <main id="main" ref={main} tabIndex={-1}>
            <Outlet key={turn} />
          </main>
        </div>
      </div>
      {dialog === 'find' && <Find key={turn} places={places} onClose={() => setDialog(undefined)} />}
      {dialog === 'help' && <Help onClose={() => setDialog(undefined)} />}
      {locked && <Login />}
    </>
  )
}

export interface Place {
  to: string
  name: string
  key?: string
  count?: number
  hot?: boolean
}

const countsOf = (r: Schemas['Report']) => ({
  dead: r.dead_letters.reduce((sum, d) => sum + d.open, 0),
  bad: r.platforms.filter((p) => p.state === 'blocked' || p.state === 'suspect').length,
  running: r.crawls.running + r.crawls.paused,
})

const servicesOf = (r: Schemas['Report']) => r.services

/** usePlaces are the pages of the rail, with the counts that are worth a look. */
function usePlaces(): { head?: string; places: Place[] }[] {
  const { say } = useSay()
  const { dead, bad, running } = useReport(countsOf).data ?? {}
  const n = say.nav
  return [
    { places: [{ to: '/', name: n.today, key: 't' }] },
    {
      head: n.listings,
      places: [
        { to: '/listings', name: n.listings, key: 'l' },
        { to: '/refused', name: n.refused, key: 'r' },
        { to: '/duplicates', name: n.duplicates },
        { to: '/platforms', name: n.platforms, key: 'p', count: bad, hot: true },
        { to: '/replays', name: n.replays },
        { to: '/searches', name: n.savedSearches },
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
        { to: '/uploads', name: n.uploads, key: 'u' },
        { to: '/campaigns', name: n.campaigns },
        { to: '/messages', name: n.messages },
        { to: '/contacts', name: n.contacts },
      ],
    },
    {
      head: n.operations,
      places: [
        { to: '/queues', name: n.queues, key: 'q' },
        { to: '/dead-letters', name: n.deadLetters, key: 'x', count: dead, hot: true },
        { to: '/activity', name: n.activity },
        { to: '/keys', name: n.keys },
      ],
    },
  ]
}

function Rail({ open }: { open: boolean }) {
  const { say, language, zone, toggleZone } = useSay()
  const services = useReport(servicesOf).data
  const links = useSession().data?.links
  return (
    <div className={open ? 'rail open' : 'rail'}>
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
        <p>
          <ToPage to="/licences">{say.licences.title}</ToPage>
        </p>
      </div>
    </div>
  )
}

const names: Record<string, string> = {
  postgres: 'Postgres',
  temporal: 'Temporal',
  rabbitmq: 'RabbitMQ',
  redis: 'Redis',
  management: 'RabbitMQ (management)',
}

/** Away names the services that do not answer. */
function Away() {
  const { say } = useSay()
  const away = useAway()
  if (away.length === 0) return null
  return (
    <p className="away" role="status">
      <Glyph state="failed" /> {say.servicesAway(away.length, away.map((s) => names[s] ?? s).join(', '))}{' '}
      {away.some((s) => starting.includes(s)) && say.nothingStarts}
    </p>
  )
}

const staleAfter = 40_000 // ms without an event or an answer

function Top(p: { menu: boolean; onMenu: () => void; onFind: () => void; onHelp: () => void }) {
  const { say, zone, toggleZone } = useSay()
  const now = useNow(5000)
  const report = useReport()
  const heardAt = Math.max(useHeardAt(), report.dataUpdatedAt)
  const lost = useLost()
  const stale = heardAt > 0 && (now - heardAt > staleAfter || (lost && report.isError))
  return (
    <header className="top">
      <button
        className="ib menu"
        aria-label={say.nav.menu}
        aria-expanded={p.menu}
        aria-controls="rail"
        onClick={p.onMenu}
      >
        <svg width="16" height="16" viewBox="0 0 16 16" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
          <path d="M2 4h12M2 8h12M2 12h12" />
        </svg>
      </button>
      <button className="find" onClick={p.onFind}>
        <svg
          width="14"
          height="14"
          viewBox="0 0 14 14"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.5"
          aria-hidden="true"
        >
          <circle cx="6" cy="6" r="4.2" />
          <path d="m9.2 9.2 3.3 3.3" strokeLinecap="round" />
        </svg>
        <span>{say.nav.find}</span>
        <kbd>⌘K</kbd>
      </button>
      <Opened />
      <div className="right">
        {heardAt > 0 && (
          <span className={stale ? 'state-live stale' : 'state-live'} role="status">
            <i aria-hidden="true" />
            {stale ? say.stale(clock(new Date(heardAt), zone)) : lost ? say.polling : say.live}
          </span>
        )}
        <button className="ib wide" title={say.nav.zone} onClick={toggleZone}>
          <Clock /> {place(zone)}
        </button>
        <Language />
        <Caller />
        <button className="ib" aria-label={say.nav.theme} title={say.nav.theme} onClick={toggleTheme}>
          <svg
            width="15"
            height="15"
            viewBox="0 0 16 16"
            fill="none"
            stroke="currentColor"
            strokeWidth="1.4"
            aria-hidden="true"
          >
            <path d="M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8z" strokeLinejoin="round" />
          </svg>
        </button>
        <button className="ib wide" aria-label={say.nav.shortcuts} title={say.nav.shortcuts} onClick={p.onHelp}>
          <kbd>?</kbd>
        </button>
      </div>
    </header>
  )
}

/** Opened tells a screen reader once which page was opened: nothing else would, for no document is loaded. */
function Opened() {
  const [page, set] = useState({ path: location.pathname, title: '' })
  useEffect(() => {
    const titles = new MutationObserver(() =>
      set((last) => (last.path === location.pathname ? last : { path: location.pathname, title: document.title })),
    )
    titles.observe(document.querySelector('title')!, { childList: true })
    return () => titles.disconnect()
  }, [])
  return (
    <p className="aside" role="status">
      {page.title}
    </p>
  )
}

/** Clock is by itself, in a box of its own: it alone is drawn each second. */
function Clock() {
  return <span className="clock">{clock(new Date(useNow()), useSay().zone)}</span>
}

function Language() {
  const { say, language, setLanguage } = useSay()
  const other = language === 'en' ? 'fr' : 'en'
  return (
    <button className="ib wide" lang={other} onClick={() => setLanguage(other)}>
      {say.nav.language}
    </button>
  )
}

/** Caller is who the API takes this browser for, and the way out. */
function Caller() {
  const { say } = useSay()
  const client = useQueryClient()
  const session = useSession().data
  const out = useDo(async () => {
    await signOut()
    void client.resetQueries({ queryKey: sessionQuery.queryKey })
    void anew(client)
  })
  if (!session) return null
  if (!session.locked) return <span className="wide mu">{say.authenticationOff}</span>
  if (!session.caller) return null
  return (
    <>
      <span className="wide">
        {session.caller.name} <span className="mu">{named(say.code.role, session.caller.role)}</span>
      </span>
      <button className="ib wide" disabled={out.isPending} onClick={() => out.mutate()}>
        {say.login.out}
      </button>
      {out.error && (
        <Ask title={say.login.out} onClose={out.reset}>
          <h2>{say.login.notOut}</h2>
          <Trouble error={out.error} />
          <p className="btns">
            <Close onClick={out.reset} />
          </p>
        </Ask>
      )}
    </>
  )
}

function toggleTheme() {
  const root = document.documentElement
  const dark =
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  root.dataset.theme = dark ? 'light' : 'dark'
  keep('theme', root.dataset.theme)
}

function useGlobalKeys(open: (d: 'find' | 'help') => void) {
  const { say, toggleZone } = useSay()
  const navigate = useNavigate()
  const client = useQueryClient()
  const go = usePlaces()
    .flatMap((g) => g.places)
    .filter((p) => p.key)
    .map((p): Shortcut => ({
      keys: `g ${p.key}`,
      what: say.key.go(p.name),
      act: () => void navigate({ to: p.to as '/' }),
    }))
  const k = say.key
  const press = (selector: string) => () => within(selector)?.click()
  const there = (selector: string) => () => !!within(selector)
  const original = '[data-key=e], a[data-out]'
  const id = '[data-key=y]'
  const link = () => document.activeElement?.closest<HTMLAnchorElement>('main a[href]')
  const global: Shortcut[] = [
    { keys: 'mod+k', what: k.find, act: () => open('find') },
    { keys: '?', what: k.help, act: () => open('help') },
    { keys: 'r', what: k.refresh, act: () => void client.invalidateQueries() },
    { keys: 'z', what: k.utc, act: toggleZone },
    { keys: 'shift+d', what: k.dark, act: toggleTheme },
    { keys: 'Escape', what: k.back, act: back },
  ]
  useShortcuts([
    ...[...global, ...go].map((s): Shortcut => ({ ...s, everywhere: true })),
    {
      keys: '/',
      what: k.filter,
      when: there('[data-filter], .filters select'),
      act: () => document.querySelector<HTMLElement>('main [data-filter], main .filters select')?.focus(),
    },
    { keys: 'j', what: k.next, when: hasRows, act: () => walk(1) },
    { keys: 'k', what: k.previous, when: hasRows, act: () => walk(-1) },
    // The browser opens a link that has the focus by itself; from anywhere else Enter goes to the first row.
    { keys: 'Enter', what: k.open, when: hasRows, act: () => walk(1) },
    {
      keys: 'o',
      what: k.openTab,
      when: () => !!link(),
      act: () => void globalThis.open(link()!.href, '_blank', 'noopener'),
    },
    { keys: 't', what: k.temporal, when: there('[data-key=t]'), act: press('[data-key=t]') },
    { keys: 'y', what: k.copyId, when: there(id), act: press(id) },
    { keys: 'e', what: k.original, when: there(original), act: press(original) },
  ])
  useEffect(() => listen(singleOff), [])
}

/** back leaves what has the focus, and then the page, for the list it belongs to. */
function back() {
  const focused = document.activeElement
  if (focused instanceof HTMLElement && focused !== document.body && focused.id !== 'main') focused.blur()
  else [...document.querySelectorAll<HTMLElement>('main .crumb a')].at(-1)?.click()
}
