import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect, useId, useState } from 'react'

import type { Schemas } from '../api/client'
import { useFound, useSession } from '../api/queries'
import { named } from '../say/format'
import { useSay, type Sentences } from '../say/Say'
import { Ask } from '../ui/Ask'
import { parseSearch } from '../ui/filters'
import type { Place } from './Rail'

interface Hit {
  group: string
  title: string
  state?: string
  to: string
  search?: Record<string, string>
}

/** plain is a text as it is compared: without capitals and accents. */
const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** pagesOf are the pages that have a word that begins with what was typed; all of them before anything is typed. */
export const pagesOf = (typed: string, places: Place[], say: Sentences): Hit[] =>
  places
    .filter((p) => ` ${plain(p.name)}`.includes(` ${plain(typed)}`))
    .map((p) => ({ group: say.find.pages, title: p.name, to: p.to }))

/** statesOf are the names of the states that things of a kind have. */
const statesOf = (say: Sentences): Record<Schemas['Finding']['kind'], Record<string, string>> => ({
  listing: { ...say.replay.statuses, ...say.listing.statuses },
  draft: say.draft.outcomes,
  request: say.draft.states,
  crawl: say.run.states,
  page: {},
  replay: say.replay.states,
  dead_letter: say.letter.states,
  platform: say.platform.state,
  campaign: say.outreach.campaignStates,
  upload: say.outreach.uploadStates,
  message: say.outreach.messageStates,
})

/** thingOf is what the API found: its address is that of a page of the console. */
function thingOf(f: Schemas['Finding'], say: Sentences): Hit {
  const u = new URL(f.href, location.origin)
  return {
    group: say.find.kind[f.kind],
    title: f.title,
    state: f.state && named(statesOf(say)[f.kind], f.state),
    to: u.pathname.replace(/^\/ui/, ''),
    search: parseSearch(u.search),
  }
}

/** listsOf are the lists that can be searched by what was typed. */
function listsOf(typed: string, say: Sentences): Hit[] {
  if (typed === '') return []
  const group = say.find.lists
  const n = say.nav
  if (/^https?:\/\//i.test(typed)) return [{ group, title: n.drafts, to: '/drafts', search: { url: typed } }]
  return [
    { group, title: n.listings, to: '/listings', search: { text: typed, status: 'any' } },
    { group, title: n.pages, to: '/search', search: { q: typed } },
    { group, title: n.drafts, to: '/drafts', search: { name: typed } },
    { group, title: n.deadLetters, to: '/dead-letters', search: { reason: typed } },
  ]
}

/** useSettled is a value once it has not changed for some milliseconds. */
function useSettled(value: string, ms: number) {
  const [settled, set] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

/** Find goes to a page by its name, to one thing by what was typed, or to a list; arrows choose, Enter opens. */
export function Find({ places, onClose }: { places: Place[]; onClose: () => void }) {
  const { say } = useSay()
  const navigate = useNavigate()
  const list = useId()
  const tenant = useRouterState({ select: (s) => (s.location.search as Record<string, string>).tenant })
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState(0)
  const own = useSession().data?.caller?.tenant // whose key is refused these lists
  const text = typed.trim()
  const asked = useSettled(text, 150)
  const found = useFound(asked, tenant)
  const things = text === asked && text !== '' ? (found.data?.items ?? []) : []
  const hits = [
    ...pagesOf(text, places, say),
    ...things.map((f) => thingOf(f, say)),
    ...(own ? [] : listsOf(text, say)),
  ]
  const at = Math.min(chosen, hits.length - 1)
  const groups = [...new Set(hits.map((h) => h.group))]
  useEffect(() => {
    document.getElementById(`${list}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [list, at])
  const open = (h: Hit | undefined) => {
    if (!h) return
    onClose()
    void navigate({ to: h.to as '/', search: (h.search ?? {}) as never })
  }
  const partial = found.data?.partial ?? []
  return (
    <Ask title={say.nav.find} onClose={onClose}>
      <input
        className="in find-words"
        autoFocus
        role="combobox"
        aria-expanded={hits.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={hits.length > 0 ? `${list}-${at}` : undefined}
        aria-label={say.nav.find}
        placeholder={say.nav.find}
        value={typed}
        maxLength={2000}
        onChange={(e) => {
          setTyped(e.target.value)
          setChosen(0)
        }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
            e.preventDefault()
            setChosen(Math.max(0, Math.min(hits.length - 1, at + (e.key === 'ArrowDown' ? 1 : -1))))
          }
          if (e.key === 'Enter' && !e.nativeEvent.isComposing) open(hits[at])
        }}
      />
      <p className="mu find-said" role="status">
        {text === '' || text !== asked || found.isPending
          ? say.find.hint
          : found.isError
            ? say.find.failed
            : partial.length > 0
              ? say.find.partial(partial.map((k) => say.find.kind[k as keyof typeof say.find.kind] ?? k).join(', '))
              : things.length === 0
                ? say.find.nothing
                : say.find.found(things.length)}
      </p>
      <div className="found" role="listbox" id={list} aria-label={say.nav.find}>
        {groups.map((group, g) => (
          <div key={group} role="group" aria-labelledby={`${list}-g${g}`}>
            <h3 id={`${list}-g${g}`} role="presentation">
              {group}
            </h3>
            {hits.map(
              (h, i) =>
                h.group === group && (
                  <div
                    key={i}
                    role="option"
                    id={`${list}-${i}`}
                    aria-selected={i === at}
                    onClick={() => open(h)}
                    onMouseMove={() => setChosen(i)}
                  >
                    {h.title} {h.state && <span className="mu">{h.state}</span>}
                  </div>
                ),
            )}
          </div>
        ))}
      </div>
    </Ask>
  )
}
