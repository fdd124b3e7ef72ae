import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { createKey, endSessions, revokeKey, useDo, useKeyList, useSessionList } from '../api/queries'
import { deviceZone, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Ask, Close, Confirm } from '../ui/Ask'
import { Glyph } from '../ui/Glyph'
import { Copy, Empty, Head, Heads, Options, Section, Trouble } from '../ui/parts'
import { Do } from '../ui/Do'
import { Reading } from '../ui/Unread'

/** Keys lists the API keys, makes one, and revokes one; below are the sessions that they and persons opened. */
export function Keys() {
  const { say } = useSay()
  const t = say.apiKey
  const keys = useKeyList()
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Schemas['Key']>()
  const revoke = useDo(revokeKey, 'keys')
  const state = (k: Schemas['Key']) =>
    k.revoked_at ? 'revoked' : k.expires_at && Date.parse(k.expires_at) < Date.now() ? 'expired' : 'active'
  return (
    <>
      <Head
        title={t.title}
        actions={
          <Do role="admin" className="btn p" onClick={() => setMaking(true)}>
            {t.create} …
          </Do>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <Trouble error={keys.error ?? revoke.error} again={() => void keys.refetch()} />
      {keys.isLoading && <Reading />}
      {keys.data?.items.length === 0 && <Empty>{t.never}</Empty>}
      {!!keys.data?.items.length && (
        <Section title={t.title} wide>
          <table>
            <Heads
              of={[
                t.name,
                t.role,
                t.tenant,
                t.state,
                t.made,
                t.used,
                t.expires,
                <span className="aside">{t.revoke}</span>,
              ]}
            />
            <tbody>
              {keys.data.items.map((k) => (
                <tr key={k.id}>
                  <td>
                    <Glyph state={state(k) === 'active' ? 'done' : 'idle'} />
                    <b>{k.name}</b> <span className="m mu">{k.id}</span>
                  </td>
                  <td>{named(say.code.role, k.role)}</td>
                  <td>{k.tenant ?? '–'}</td>
                  <td>{t[state(k)]}</td>
                  <td>
                    <Age at={k.created_at} />
                  </td>
                  <td>
                    <Age at={k.last_used_at} />
                  </td>
                  <td>
                    <Age at={k.expires_at} />
                  </td>
                  <td>
                    {state(k) === 'active' && (
                      <Do role="admin" onClick={() => setRevoking(k)}>
                        {t.revoke} …
                      </Do>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
      <Sessions />
      {making && <Make onClose={() => setMaking(false)} />}
      {revoking && (
        <Confirm
          title={t.revoke}
          role="admin"
          onYes={() => revoke.mutate(revoking.id)}
          onClose={() => setRevoking(undefined)}
        >
          <p>{t.revokeAsk(revoking.name)}</p>
        </Confirm>
      )}
    </>
  )
}

/** Sessions lists who is logged in with a browser, and ends the sessions of one. */
function Sessions() {
  const { say } = useSay()
  const t = say.apiKey
  const sessions = useSessionList()
  const [ending, setEnding] = useState<string>()
  const end = useDo(endSessions, 'sessions')
  const items = sessions.data?.items ?? []
  return (
    <>
      <Trouble error={sessions.error ?? end.error} again={() => void sessions.refetch()} />
      {items.length > 0 && (
        <Section title={t.sessions} note={t.sessionsNote} wide>
          <table>
            <Heads of={[t.caller, t.role, t.opened, t.used, t.expires, <span className="aside">{t.end}</span>]} />
            <tbody>
              {items.map((s) => (
                <tr key={s.id}>
                  <td>
                    <b>{s.caller}</b> <span className="m mu">{s.key_id ?? 'OIDC'}</span>
                  </td>
                  <td>{s.role ? named(say.code.role, s.role) : t.ofTheKey}</td>
                  <td>
                    <Age at={s.created_at} />
                  </td>
                  <td>
                    <Age at={s.used_at} />
                  </td>
                  <td>
                    <Age at={s.ends_at} />
                  </td>
                  <td>
                    <Do role="admin" onClick={() => setEnding(s.caller)}>
                      {t.end} …
                    </Do>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
      {ending && (
        <Confirm title={t.end} role="admin" onYes={() => end.mutate(ending)} onClose={() => setEnding(undefined)}>
          <p>{t.endAsk(ending, items.filter((s) => s.caller === ending).length)}</p>
        </Confirm>
      )}
    </>
  )
}

function Make({ onClose }: { onClose: () => void }) {
  const { say } = useSay()
  const t = say.apiKey
  const [name, setName] = useState('')
  const [role, setRole] = useState<Schemas['Key']['role']>('read')
  const [tenant, setTenant] = useState('')
  const [expires, setExpires] = useState('')
  const make = useDo(createKey, 'keys')
  const once = useRef<HTMLParagraphElement>(null)
  useEffect(() => once.current?.focus(), [make.data]) // the button that had the focus is gone
  return (
    <Ask title={t.create} held={make.isPending || !!make.data} onClose={onClose}>
      <h2>{t.create}</h2>
      <Trouble error={make.error} />
      {make.data ? (
        <>
          <p ref={once} tabIndex={-1}>
            {t.once}
          </p>
          <p>
            <Copy text={make.data.key} />
          </p>
          <Close onClick={onClose} />
        </>
      ) : (
        <form
          className="filters"
          onSubmit={(e) => {
            e.preventDefault()
            make.mutate({
              name,
              role,
              tenant: tenant || undefined,
              expires_at: expires ? new Date(expires).toISOString() : undefined,
            })
          }}
        >
          <label>
            {t.name}
            <input
              className="in"
              autoFocus
              required
              maxLength={100}
              value={name}
              onChange={(e) => setName(e.target.value)}
            />
          </label>
          <label>
            {t.role}
            <select className="in" value={role} onChange={(e) => setRole(e.target.value as typeof role)}>
              <Options of={(['read', 'operate', 'admin'] as const).map((r) => [r, named(say.code.role, r)])} />
            </select>
          </label>
          <label>
            {t.tenantOf}
            <input className="in" maxLength={40} value={tenant} onChange={(e) => setTenant(e.target.value)} />
          </label>
          <label>
            {t.expires}, {deviceZone()}
            <input className="in" type="datetime-local" value={expires} onChange={(e) => setExpires(e.target.value)} />
          </label>
          <button className="btn p" disabled={make.isPending || name === ''}>
            {t.create}
          </button>
        </form>
      )}
    </Ask>
  )
}
