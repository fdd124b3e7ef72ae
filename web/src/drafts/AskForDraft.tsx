import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useMake } from '../api/once'
import { requestDraft } from '../api/queries'
import { useSay } from '../say/Say'
import { Do } from '../ui/Do'
import { Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'

interface Secret {
  key: number
  kind: 'header' | 'cookie'
  name: string
  value: string
}

/** AskForDraft is the form that asks for a page. Headers and cookies are secrets: they are forgotten when it is sent. */
export function AskForDraft() {
  const { say } = useSay()
  const t = say.draft
  const ask = useMake(requestDraft, 'draft-requests')
  const [url, setURL] = useState('')
  const [locale, setLocale] = useState('')
  const [secrets, setSecrets] = useState<Secret[]>([])
  const [next, setNext] = useState(0)
  const add = (kind: Secret['kind']) => {
    setSecrets([...secrets, { key: next, kind, name: '', value: '' }])
    setNext(next + 1)
  }
  const change = (key: number, c: Partial<Secret>) =>
    setSecrets(secrets.map((one) => (one.key === key ? { ...one, ...c } : one)))
  return (
    <>
      <form
        onSubmit={(e) => {
          e.preventDefault()
          ask.mutate(wish(url, locale, secrets), {
            onSuccess: () => {
              setURL('')
              setSecrets([])
            },
          })
        }}
      >
        <div className="filters">
          <label>
            {t.url}
            <input
              className="in m"
              type="url"
              required
              size={48}
              placeholder="https://"
              value={url}
              onChange={(e) => setURL(e.target.value)}
            />
          </label>
          <label>
            {t.locale}
            <input
              className="in m"
              size={8}
              placeholder="en-US"
              value={locale}
              onChange={(e) => setLocale(e.target.value)}
            />
          </label>
          <Do type="submit" className="btn p" disabled={ask.isPending}>
            {t.request}
          </Do>
        </div>
        <details>
          <summary className="mu">{t.secrets}</summary>
          <div className="secrets">
            <p className="mu">{t.secretsNote}</p>
            {secrets.map((one) => (
              <div className="filters" key={one.key}>
                <label>
                  {one.kind === 'header' ? t.headerName : t.cookieName}
                  <input
                    className="in m"
                    required
                    autoComplete="off"
                    value={one.name}
                    onChange={(e) => change(one.key, { name: e.target.value })}
                  />
                </label>
                <label>
                  {t.secret}
                  <input
                    className="in m"
                    type="password"
                    required
                    autoComplete="new-password"
                    value={one.value}
                    onChange={(e) => change(one.key, { value: e.target.value })}
                  />
                </label>
                <button
                  type="button"
                  className="btn"
                  onClick={() => setSecrets(secrets.filter((other) => other.key !== one.key))}
                >
                  {t.remove}
                </button>
              </div>
            ))}
            <div className="btns">
              <button type="button" className="btn" onClick={() => add('header')}>
                {t.addHeader}
              </button>
              <button type="button" className="btn" onClick={() => add('cookie')}>
                {t.addCookie}
              </button>
            </div>
          </div>
        </details>
      </form>
      <Trouble error={ask.error} />
      {ask.data && (
        <p role="status">
          {t.asked}{' '}
          <ToPage to="/drafts/requests/$id" of={ask.data.event_id}>
            {t.made}
          </ToPage>
        </p>
      )}
    </>
  )
}

/** wish is the body of a request; what is empty is left out. */
function wish(url: string, locale: string, secrets: Omit<Secret, 'key'>[]): Schemas['DraftRequest'] {
  const headers = secrets.filter((s) => s.kind === 'header')
  const cookies = secrets.filter((s) => s.kind === 'cookie')
  return {
    url,
    ...(locale && { locale }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers.map((h) => [h.name, h.value])) }),
    ...(cookies.length > 0 && { cookies: cookies.map((c) => ({ name: c.name, value: c.value })) }),
  }
}
