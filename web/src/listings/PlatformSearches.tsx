import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { addSearch, putSearch, removeSearch, useDo, usePlatform } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Ask, Confirm } from '../ui/Ask'
import { Do } from '../ui/Do'
import { Glyph } from '../ui/Glyph'
import { Crumb, Empty, Head, Heads, Out, Section, Trouble } from '../ui/parts'
import { CycleNums, expectedPages, platformGlyph, Ticks } from '../ui/PlatformLine'
import { ToPage } from '../ui/ToPage'
import { TransportSelect } from '../ui/TransportSelect'
import { Unread } from '../ui/Unread'
import { paces } from './PlatformSettings'

type Platform = Schemas['Platform']
type Search = Schemas['PlatformSearch']

const first = 'default' // the search whose address is that of the settings

/** keptOf is a search as it is, for a change of one thing: what a change leaves out is as the site has it. */
const keptOf = (s: Search): Schemas['PlatformSearchPut'] => ({
  ...s.own,
  paused: s.paused,
  ...(s.name !== first && { url: s.url }),
})

/** Searches are the lists of a site that are scraped one beside the other, each with a cycle of its own. */
export function Searches({ platform: p }: { platform: Platform }) {
  const { say, language } = useSay()
  const t = say.platform
  const put = useDo(putSearch, 'platforms')
  const add = useDo(addSearch, 'platforms')
  const [adding, setAdding] = useState(false)
  const close = () => {
    setAdding(false)
    add.reset()
  }
  return (
    <Section
      title={t.searches}
      note={p.searches.length}
      go={<Do onClick={() => setAdding(true)}>{t.addSearch} …</Do>}
      wide
    >
      <Trouble error={put.error} />
      <table>
        <Heads
          of={[
            t.search,
            t.address,
            [t.pages, 'r'],
            [t.adverts, 'r'],
            [t.looked, 'r'],
            [<span className="aside">{say.pause}</span>, 'r'],
          ]}
        />
        <tbody>
          {p.searches.map((s) => {
            const cycle = s.current_cycle ?? s.last_cycle
            return (
              <tr key={s.name}>
                <td>
                  <Glyph state={platformGlyph[s.state]} />
                  <ToPage to="/platforms/$name/searches/$search" params={{ name: p.name, search: s.name }}>
                    <b>{s.name}</b>
                  </ToPage>{' '}
                  <span className="tag">{t.state[s.state]}</span>
                </td>
                <td className="cut" title={s.url}>
                  <span className="m">{pathOf(s.url)}</span>
                </td>
                <td className="r">{cycle ? count(cycle.pages, language) : '–'}</td>
                <td className="r">{cycle?.total !== undefined ? count(cycle.total, language) : '–'}</td>
                <td className="r">
                  <Age at={s.looked_at} />
                </td>
                <td className="r">
                  <Do
                    disabled={put.isPending}
                    onClick={() =>
                      put.mutate({ name: p.name, search: s.name, body: { ...keptOf(s), paused: !s.paused } })
                    }
                  >
                    {s.paused ? say.resume : say.pause}
                  </Do>
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {adding && (
        <Ask title={t.addSearch} held={add.isPending} onClose={close}>
          <h2>{t.addSearch}</h2>
          <p className="m2">{t.addSearchNote(p.name)}</p>
          <Form platform={p} put={add} onDone={close} onCancel={close} />
        </Ask>
      )}
    </Section>
  )
}

/** isTaken reports whether a site has a search of this name: to save a new one as that would change the one there is. */
export const isTaken = (p: { searches: { name: string }[] }, name: string) => p.searches.some((s) => s.name === name)

/** pathOf is what differs between the searches of a site. */
function pathOf(url: string) {
  try {
    const u = new URL(url)
    return decodeURIComponent(u.pathname) + u.search
  } catch {
    return url
  }
}

/** PlatformSearch is one search: what it does now, and what of its settings is its own. */
export function PlatformSearch() {
  const { say } = useSay()
  const t = say.platform
  const { name, search } = useParams({ strict: false }) as { name: string; search: string }
  const platform = usePlatform(name)
  const put = useDo(putSearch, 'platforms')
  const save = useDo(putSearch, 'platforms')
  const remove = useDo(removeSearch, 'platforms')
  const navigate = useNavigate()
  const [removing, setRemoving] = useState(false)
  const p = platform.data
  if (!p) return <Unread of={platform} title={search} crumbs={<Crumb to="/platforms">{t.title}</Crumb>} />
  const s = p.searches.find((one) => one.name === search)
  const up = (
    <>
      <Crumb to="/platforms">{t.title}</Crumb> <Crumb to={`/platforms/${p.name}`}>{p.name}</Crumb>
    </>
  )
  if (!s)
    return (
      <Head crumbs={up} title={<span className="m">{search}</span>}>
        <p>{t.noSearch}</p>
      </Head>
    )
  const cycle = s.current_cycle ?? s.last_cycle
  return (
    <>
      <Head
        crumbs={up}
        title={s.name}
        actions={
          <>
            <Do
              disabled={put.isPending}
              onClick={() => put.mutate({ name, search, body: { ...keptOf(s), paused: !s.paused } })}
            >
              {s.paused ? say.resume : say.pause}
            </Do>
            {s.name !== first && <Do onClick={() => setRemoving(true)}>{t.removeSearch} …</Do>}
          </>
        }
      >
        <p>
          <Glyph state={platformGlyph[s.state]} />
          {t.state[s.state]} · <Out href={s.url} /> · {t.transports[s.transport]}
          {s.proxy && (
            <>
              {' '}
              · <span className="m">{s.proxy}</span>
            </>
          )}
        </p>
      </Head>
      <Trouble error={put.error ?? remove.error} />
      {s.trouble && (
        <p className="problem">
          {s.trouble.reason} <Age at={s.trouble.since} />
        </p>
      )}
      <Section title={s.current_cycle ? t.cycle : t.lastCycle} note={cycle && <Age at={cycle.started_at} />}>
        {!cycle && <Empty>{t.noCycle}</Empty>}
        {cycle && (
          <>
            <Ticks
              done={cycle.pages}
              of={s.current_cycle ? expectedPages(s) : cycle.pages}
              current={!!s.current_cycle}
            />
            <CycleNums cycle={cycle} />
            {cycle.note && <p className="mu">{cycle.note}</p>}
          </>
        )}
      </Section>
      <Section title={t.settings} note={t.ownNote}>
        <Form key={JSON.stringify(s.own) + s.url} platform={p} search={s} put={save} />
      </Section>
      {removing && (
        <Confirm
          title={t.removeSearch}
          onYes={() =>
            remove.mutate({ name, search }, { onSuccess: () => void navigate({ to: `/platforms/${p.name}` as '/' }) })
          }
          onClose={() => setRemoving(false)}
        >
          <h2>{t.removeSearchAsk(s.name)}</h2>
          <p>{t.removeSearchNote}</p>
        </Confirm>
      )}
    </>
  )
}

/** Form makes a search, or changes one. An empty field is as the site has it. */
function Form(p: {
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
