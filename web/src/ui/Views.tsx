import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'

import { useSay } from '../say/Say'
import { Ask } from './Ask'
import { parseSearch, writeSearch } from './filters'
import { useShortcuts } from './keys'
import { addView, mostViews, readViews, removeView, walkViews, type View } from './views'

/** Views are the saved views of the page: a name for its filters. [ and ] walk along them. */
export function Views() {
  const { say } = useSay()
  const t = say.view
  const navigate = useNavigate()
  const { path, search } = useRouterState({
    select: (s) => ({
      path: s.location.pathname,
      search: writeSearch({ ...(s.location.search as Record<string, string>), theme: undefined }),
    }),
    structuralSharing: true,
  })
  const [, again] = useState(0)
  const [asking, ask] = useState(false)
  const views = readViews(path)
  const now = views.find((v) => v.search === search)
  const open = (v: View | undefined) => v && void navigate({ search: parseSearch(v.search) as never })
  const when = () => views.length > 0
  useShortcuts([
    { keys: ']', what: t.next, when, act: () => open(walkViews(views, search, 1)) },
    { keys: '[', what: t.previous, when, act: () => open(walkViews(views, search, -1)) },
  ])
  if (views.length === 0 && search === '') return null
  return (
    <div className="views" role="group" aria-label={t.title}>
      {views.length > 0 && <span className="mu">{t.title}</span>}
      {views.map((v) => (
        <span key={v.name} className="seg">
          <button type="button" aria-pressed={v === now} onClick={() => open(v)}>
            {v.name}
          </button>
          <button
            type="button"
            aria-label={t.remove(v.name)}
            title={t.remove(v.name)}
            onClick={() => {
              removeView(v)
              again((n) => n + 1)
            }}
          >
            ×
          </button>
        </span>
      ))}
      {!now && search !== '' && (
        <button type="button" className="btn q" onClick={() => ask(true)}>
          {t.save}
        </button>
      )}
      {asking && (
        <Name
          onClose={() => ask(false)}
          onName={(name) => {
            const kept = addView({ name, path, search })
            again((n) => n + 1)
            return kept
          }}
        />
      )}
    </div>
  )
}

/** Name asks for the name of a view. onName reports whether it was kept. */
function Name({ onName, onClose }: { onName: (name: string) => boolean; onClose: () => void }) {
  const { say } = useSay()
  const t = say.view
  const [name, set] = useState('')
  const [full, setFull] = useState(false)
  return (
    <Ask title={t.save} onClose={onClose}>
      <h2>{t.save}</h2>
      <form
        onSubmit={(e) => {
          e.preventDefault()
          if (onName(name.trim())) onClose()
          else setFull(true)
        }}
      >
        <p>{t.local}</p>
        <p>
          <label>
            {t.name}{' '}
            <input className="in" autoFocus maxLength={60} value={name} onChange={(e) => set(e.target.value)} />
          </label>
        </p>
        {full && (
          <p className="problem" role="alert">
            {t.full(mostViews)}
          </p>
        )}
        <p className="btns">
          <button className="btn p" disabled={name.trim() === ''}>
            {say.save}
          </button>
          <button type="button" className="btn" onClick={onClose}>
            {say.cancel}
          </button>
        </p>
      </form>
    </Ask>
  )
}
