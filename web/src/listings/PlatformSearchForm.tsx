import { useState } from 'react'

import type { Schemas } from '../api/client'
import type { putSearch, useDo } from '../api/queries'
import { useSay } from '../say/Say'
import { Do } from '../ui/Do'
import { Trouble } from '../ui/parts'
import { TransportSelect } from '../ui/TransportSelect'
import { paces } from './PlatformSettings'

type Platform = Schemas['Platform']
type Search = Schemas['PlatformSearch']

export const first = 'default' // the search whose address is that of the settings

/** keptOf is a search as it is, for a change of one thing: what a change leaves out is as the site has it. */
export const keptOf = (s: Search): Schemas['PlatformSearchPut'] => ({
  ...s.own,
  paused: s.paused,
  ...(s.name !== first && { url: s.url }),
})

/** isTaken reports whether a site has a search of this name: to save a new one as that would change the one there is. */
export const isTaken = (p: { searches: { name: string }[] }, name: string) => p.searches.some((s) => s.name === name)

/** Form makes a search, or changes one. An empty field is as the site has it. */
export function Form(p: {
  platform: Platform
  search?: Search
  put: ReturnType<typeof useDo<Parameters<typeof putSearch>[0], Search>>
  onDone?: () => void
  onCancel?: () => void
}) {
  const { say } = useSay()
  const t = say.platform
  const { search: s, put } = p
  const [name, setName] = useState(s?.name ?? '')
  const [url, setURL] = useState(s?.url ?? '')
  const [transport, setTransport] = useState<Search['transport'] | ''>(s?.own.transport ?? '')
  const [proxy, setProxy] = useState('')
  const [own, setOwn] = useState<Record<string, string>>(() =>
    Object.fromEntries(paces.map((n) => [n, s?.own[n] === undefined ? '' : String(s.own[n])])),
  )
  const body: Schemas['PlatformSearchPut'] = {
    ...(name !== first && { url }),
    paused: s?.paused ?? false,
    ...(transport && { transport }),
    ...(proxy && { proxy }),
    ...Object.fromEntries(paces.filter((n) => own[n]).map((n) => [n, Number(own[n])])),
  }
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault()
        put.mutate({ name: p.platform.name, search: name, body }, { onSuccess: p.onDone })
      }}
    >
      <Trouble error={put.error} />
      <div className="filters">
        {!s && (
          <label>
            {t.searchName}
            <input
              className="in"
              autoFocus
              required
              maxLength={32}
              pattern="[a-z0-9][a-z0-9_\-]*"
              ref={(field) => field?.setCustomValidity(isTaken(p.platform, name) ? t.nameTaken : '')}
              value={name}
              onChange={(e) => setName(e.target.value)}
            />
          </label>
        )}
        {name !== first && (
          <label>
            {t.address}
            <input className="in long" type="url" required value={url} onChange={(e) => setURL(e.target.value)} />
          </label>
        )}
      </div>
      <div className="filters">
        {paces.map((n) => (
          <label key={n}>
            {t.setting[n]}
            <input
              className="in"
              type="number"
              step="any"
              min="0"
              placeholder={String(p.platform.settings[n])}
              value={own[n] ?? ''}
              onChange={(e) => setOwn({ ...own, [n]: e.target.value })}
            />
          </label>
        ))}
        <TransportSelect
          value={transport}
          onChange={setTransport}
          none={t.asSite(t.transports[p.platform.transport] ?? '')}
        />
        <label>
          {t.proxy}
          <input
            className="in"
            type="password"
            autoComplete="off"
            placeholder={s?.proxy ?? t.asSite(p.platform.proxy ?? t.noProxy)}
            value={proxy}
            onChange={(e) => setProxy(e.target.value)}
          />
        </label>
        {s && (s.proxy || p.platform.proxy) && (
          <Do
            type="button"
            disabled={put.isPending}
            onClick={() => put.mutate({ name: p.platform.name, search: name, body: { ...keptOf(s), proxy: '' } })}
          >
            {t.siteProxy}
          </Do>
        )}
      </div>
      <p className="btns">
        <Do className="btn p" disabled={put.isPending}>
          {say.save}
        </Do>
        {p.onCancel && (
          <button type="button" className="btn" disabled={put.isPending} onClick={p.onCancel}>
            {say.cancel}
          </button>
        )}
      </p>
    </form>
  )
}
