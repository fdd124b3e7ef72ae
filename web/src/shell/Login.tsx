import { useQueryClient } from '@tanstack/react-query'
import { Navigate, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'

import { sessionQuery, signIn, useSession } from '../api/queries'
import { useSay } from '../say/Say'
import { Ask } from '../ui/Ask'
import { parseSearch } from '../ui/filters'
import { Copy, Head, Trouble } from '../ui/parts'
import { lock } from './refused'

/** useAsked is what the address says of a login: why it failed, the request that did, and where to go afterwards. */
const useAsked = () =>
  useRouterState({
    select: (s) => {
      const q = s.location.search as Record<string, string>
      const here = s.location.pathname === '/login'
      return { here, failed: here ? q.failed : undefined, request: q.request ?? '', to: here ? (q.to ?? '/ui/') : '' }
    },
    structuralSharing: true,
  })

/** Login lets a person in by the identity provider or an API key, above the page: nothing on it is lost, unless it is
 * another caller than the one before, who is shown nothing of the other's. The key is sent once and kept nowhere. */
export function Login() {
  const { say } = useSay()
  const client = useQueryClient()
  const ways = useSession().data?.login ?? []
  const { failed, request, to } = useAsked()
  const [key, setKey] = useState('')
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const enter = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await signIn(key.trim())
      await client.cancelQueries({ queryKey: sessionQuery.queryKey }) // one that is on its way may be of the caller before
      await client.fetchQuery({ ...sessionQuery, staleTime: 0 })
      lock(false)
      await client.invalidateQueries()
    } catch (e) {
      setError(e)
    } finally {
      setBusy(false)
      setKey('')
    }
  }
  const back = to || location.pathname + location.search
  const why = say.login.failed[failed as keyof typeof say.login.failed]
  return (
    <Ask title={say.login.title} onClose={() => lock(false)}>
      <form
        className="filters"
        onSubmit={(e) => {
          e.preventDefault()
          void enter()
        }}
      >
        <h2>{say.login.title}</h2>
        {failed && (
          <div className="problem" role="alert">
            {why ?? say.login.failed.invalid}
            {request && (
              <div className="mu">
                {say.login.request} <Copy text={request.slice(0, 36)} />
              </div>
            )}
          </div>
        )}
        {ways.includes('oidc') && (
          <a className="btn p" href={'/session/oidc?to=' + encodeURIComponent(back)}>
            {say.login.oidc}
          </a>
        )}
        <p className="m2">{ways.includes('oidc') ? say.login.orKey : say.login.intro}</p>
        <Trouble error={error} />
        <label>
          {say.login.key}
          <input
            className="in m"
            type="password"
            autoComplete="current-password"
            autoFocus={!ways.includes('oidc')}
            value={key}
            onChange={(e) => setKey(e.target.value)}
          />
        </label>
        <button className={ways.includes('oidc') ? 'btn' : 'btn p'} disabled={busy || key.trim() === ''}>
          {say.login.enter}
        </button>
      </form>
    </Ask>
  )
}

/** pageOf is the page of the console that an address leads to; any other address leads to the first one. */
export function pageOf(to: string, origin: string) {
  const asked = new URL(to, origin)
  const page = asked.origin === origin && /^\/ui(\/|$)/.test(asked.pathname) ? asked : new URL('/ui/', origin)
  return { to: page.pathname.slice('/ui'.length) || '/', search: parseSearch(page.search) }
}

/** LoginPage is where a login that failed leads. Whoever is let in goes on to the page that was asked for. */
export function LoginPage() {
  const { say } = useSay()
  const session = useSession().data
  const { to } = useAsked()
  if (session?.caller) {
    const page = pageOf(to, location.origin)
    return <Navigate to={page.to as '/'} search={page.search as never} replace />
  }
  return (
    <Head title={say.login.title}>
      <p>
        <button className="btn p" onClick={() => lock(true)}>
          {say.login.title}
        </button>
      </p>
    </Head>
  )
}
