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
import { Unread } from '../ui/Unread'
import { first, Form, keptOf } from './PlatformSearchForm'

type Platform = Schemas['Platform']

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
