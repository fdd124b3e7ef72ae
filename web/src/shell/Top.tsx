import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

import { sessionQuery, signOut, useDo, useReport, useSession } from '../api/queries'
import { useHeardAt, useLost } from '../api/stream'
import { clock, named, place } from '../say/format'
import { keep, useSay } from '../say/Say'
import { useNow } from '../ui/Age'
import { Ask, Close } from '../ui/Ask'
import { Trouble } from '../ui/parts'
import { anew } from './caller'

const staleAfter = 40_000 // ms without an event or an answer

/** Top is the line above every page: how fresh it is, who calls, and how times and colours are shown. */
export function Top(p: { menu: boolean; onMenu: () => void; onFind: () => void; onHelp: () => void }) {
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
export function Clock() {
  return <span className="clock">{clock(new Date(useNow()), useSay().zone)}</span>
}

export function Language() {
  const { say, language, setLanguage } = useSay()
  const other = language === 'en' ? 'fr' : 'en'
  return (
    <button className="ib wide" lang={other} onClick={() => setLanguage(other)}>
      {say.nav.language}
    </button>
  )
}

/** Caller is who the API takes this browser for, and the way out. */
export function Caller() {
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

export function toggleTheme() {
  const root = document.documentElement
  const dark =
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  root.dataset.theme = dark ? 'light' : 'dark'
  keep('theme', root.dataset.theme)
}
