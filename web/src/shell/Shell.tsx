import { Outlet, useRouterState } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'

import { starting, useAway, useSession } from '../api/queries'
import { useStream } from '../api/stream'
import { useSay } from '../say/Say'
import { Glyph } from '../ui/Glyph'
import { useShortcuts } from '../ui/keys'
import { useTurn } from './caller'
import { Find } from './Find'
import { Help } from './Help'
import { useGlobalKeys } from './globalKeys'
import { Login } from './Login'
import { Rail, usePlaces } from './Rail'
import { lock, useLocked } from './refused'
import './shell.css'
import { Top } from './Top'

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
  // What closes the menu may have the focus, and is hidden with it.
  const closeMenu = (to: HTMLElement | null) => {
    if (!menu) return
    setMenu(false)
    to?.focus({ preventScroll: true })
  }
  const toButton = () => closeMenu(document.querySelector<HTMLElement>('[aria-controls=rail]'))
  useShortcuts([{ keys: 'Escape', what: say.close, when: () => menu, act: toButton }])
  return (
    <>
      <a className="skip btn" href="#main" onClick={() => main.current?.focus()}>
        {say.skipToContent}
      </a>
      <div className="shell">
        <Rail open={menu} onClose={() => closeMenu(main.current)} />
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
