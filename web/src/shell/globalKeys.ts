import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'

import { useSay } from '../say/Say'
import { hasRows, listen, useShortcuts, walk, within, type Shortcut } from '../ui/keys'
import { singleOff } from './Help'
import { usePlaces } from './Rail'
import { toggleTheme } from './Top'

/** useGlobalKeys are the keys that work on every page, and those that do on each with a list. */
export function useGlobalKeys(open: (d: 'find' | 'help') => void) {
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
