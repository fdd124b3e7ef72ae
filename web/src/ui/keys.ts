import { useEffect } from 'react'

export interface Shortcut {
  keys: string // "j", "g l" for one after the other, "mod+k"
  what: string
  act: () => void
  everywhere?: boolean // it works on every page, and the help lists it after those of the page
  when?: () => boolean // absent = always; where it is false, the key does nothing and the help leaves it out
}

const all = new Set<Shortcut[]>()
let before = '' // the first key of two, for a second
let forget: ReturnType<typeof setTimeout> | undefined

/** shortcuts returns those that work now, the ones of the page last. */
export function shortcuts() {
  const now = [...all].flat().filter((s) => s.when?.() ?? true)
  return [...now.filter((s) => s.everywhere), ...now.filter((s) => !s.everywhere)]
}

/**
 * useShortcuts makes keys work as long as the component is shown. Single letters do nothing while somebody types. Those of
 * a page go before those that work everywhere.
 */
export function useShortcuts(list: Shortcut[]) {
  useEffect(() => {
    all.add(list)
    return () => void all.delete(list)
  })
}

const typing = (e: KeyboardEvent) =>
  e.target instanceof HTMLElement &&
  (e.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) &&
  !(e.target instanceof HTMLInputElement && /^(checkbox|radio|button|submit|reset)$/.test(e.target.type))

/** own reports whether the browser does something of its own with a key where the focus is: that must go on. */
const own = (e: KeyboardEvent) =>
  (e.key === ' ' || e.key === 'Enter') && e.target instanceof Element && !!e.target.closest('button, a, summary, input')

/** keyOf names what was pressed, as in Shortcut.keys. */
export const keyOf = (e: Pick<KeyboardEvent, 'key' | 'shiftKey' | 'metaKey' | 'ctrlKey'>) =>
  (e.metaKey || e.ctrlKey ? 'mod+' : '') +
  (e.shiftKey && /^[a-z]$/i.test(e.key) ? 'shift+' + e.key.toLowerCase() : e.key)

/**
 * listen acts on keys until the returned function is called. off tells whether keys that are a single character are
 * switched off; Escape and those with ⌘ or Ctrl work all the same.
 */
export function listen(off: () => boolean) {
  const onKey = (e: KeyboardEvent) => {
    const mod = e.metaKey || e.ctrlKey
    if (e.altKey || e.defaultPrevented || document.querySelector('dialog[open]')) return
    if (e.key === 'Escape' && typing(e)) return (e.target as HTMLElement).blur()
    if (own(e) || (!mod && e.key !== 'Escape' && (typing(e) || off()))) return
    const key = keyOf(e)
    const pair = before && `${before} ${key}`
    before = ''
    clearTimeout(forget)
    const now = shortcuts()
    const found = now.findLast((s) => s.keys === pair) ?? now.findLast((s) => s.keys === key)
    if (found) {
      e.preventDefault()
      found.act()
    } else if (now.some((s) => s.keys.startsWith(key + ' '))) {
      before = key
      forget = setTimeout(() => (before = ''), 1000)
    }
  }
  document.addEventListener('keydown', onKey)
  return () => document.removeEventListener('keydown', onKey)
}

/** rowLinks are the links that the rows of the page open by, one a row. */
function rowLinks() {
  const links = [
    ...document.querySelectorAll<HTMLElement>('main tbody tr td a:first-of-type, main [data-row], main .pl .h a'),
  ]
  return links.filter((l, i) => {
    const row = l.closest('tr')
    return i === 0 || row === null || row !== links[i - 1]!.closest('tr')
  })
}

/** hasRows reports whether there is anything to walk along. */
export const hasRows = () => rowLinks().length > 0

/** walk moves the focus to the link of the next row, or of the one before. */
export function walk(by: 1 | -1) {
  const rows = rowLinks()
  const at = rows.findIndex((l) => l === document.activeElement || l.closest('tr')?.contains(document.activeElement))
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(at + by, 0), rows.length - 1)]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}

/** itemOf is what a link of a row opens: the row itself. */
const itemOf = (link: HTMLElement) => link.closest<HTMLElement>('tr, li, .twin, .pl') ?? link

/**
 * actedOn is which of the elements that a key may act on is meant: the first in the item of a list that has the focus, or
 * else the first that belongs to the page itself. It is never in an item that has no focus: a key would act on one that
 * nobody chose.
 */
export function actedOn<E extends { contains: (other: E | null) => boolean }>(may: E[], items: E[], focus: E | null) {
  const chosen = items.find((i) => i.contains(focus))
  return may.find((e) => chosen?.contains(e)) ?? may.find((e) => !items.some((i) => i.contains(e)))
}

/** within finds what a key acts on, of the elements of the page that a selector means. */
export const within = (selector: string) =>
  actedOn(
    [...document.querySelectorAll<HTMLElement>(selector)].filter((e) => e.closest('main')),
    rowLinks().map(itemOf),
    document.activeElement as HTMLElement | null,
  )
