import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { retryRun } from '../api/crawl'
import { useDo } from '../api/queries'
import { bytes, count, duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age, At } from '../ui/Age'
import { Do } from '../ui/Do'
import { Copy, Out, Section, Trouble } from '../ui/parts'
import { broken, pathOf, type Status } from './states'

const few = 6 // pages with a link to the URL, before all are asked for

/** Chosen is one URL of a run: the way that led to it, what it answered, and the pages that link to it. */
export function Chosen(p: {
  run: Schemas['CrawlSummary']
  url: number // its ID; 0 = none is chosen
  answer: UseQueryResult<Schemas['CrawlURLDetail'], Error>
  onChoose: (url: number) => void
}) {
  const { say, language } = useSay()
  const t = say.run
  const again = useDo(retryRun, 'run', 'run-url', 'urls', 'why', 'broken')
  const [all, setAll] = useState(0) // the URL of which all pages with a link are shown
  if (!p.url)
    return (
      <Section title={t.chosen}>
        <p className="mu">{t.chooseOne}</p>
      </Section>
    )
  const u = p.answer.data
  if (!u)
    return (
      <Section title={t.chosen} go={<Close onClick={() => p.onChoose(0)} />}>
        <Trouble error={p.answer.error} again={() => void p.answer.refetch()} />
      </Section>
    )
  const status = u.status as Status
  const failed = broken.includes(status)
  const pages = all === u.id ? u.links_in : u.links_in.slice(0, few)
  const maxTries = p.run.run_config.maxRetries
  return (
    <Section title={t.chosen} go={<Close onClick={() => p.onChoose(0)} />}>
      <div className="chosen" data-url={u.id}>
        <h3 className="m">{pathOf(u.normalized_url)}</h3>
        <p className="state">
          <span className={failed ? 'tag x' : 'tag v'}>{named(say.code.url, u.status)}</span>{' '}
          {[
            u.http_status,
            u.reason && named(t.reasons, u.reason),
            u.tries > 0 && t.tries(u.tries),
            u.took_ms != null && `${u.took_ms}\u00a0ms`,
          ]
            .filter(Boolean)
            .join(', ')}
        </p>
        <ol className="path" aria-label={t.path}>
          {u.path.map((page, i) => {
            const last = i === u.path.length - 1
            return (
              <li key={page.id} className={last && failed ? 'failed' : undefined} aria-current={last || undefined}>
                {last ? (
                  <b className={failed ? 'verm' : undefined}>{page.title || tailOf(page.normalized_url)}</b>
                ) : (
                  <button className="word s" onClick={() => p.onChoose(page.id)}>
                    {page.title || tailOf(page.normalized_url)}
                  </button>
                )}
                <span className="m mu">
                  {pathOf(page.normalized_url)} {page.depth === 0 ? t.graph.seed : t.atDepth(page.depth)}
                </span>
              </li>
            )
          })}
        </ol>
        <dl className="kv">
          <dt>{t.linkedFrom}</dt>
          <dd>{t.pagesLinking(u.links_in_total, count(u.links_in_total, language))}</dd>
          {u.raw_url && (
            <>
              <dt>{t.asWritten}</dt>
              <dd className="m">{u.raw_url.slice(0, 500)}</dd>
            </>
          )}
          {u.visited_at && (
            <>
              <dt>{t.asked}</dt>
              <dd>
                <At at={u.visited_at} /> {u.claimed_by_worker && t.byWorker(u.claimed_by_worker)}
              </dd>
            </>
          )}
          {u.due_at && (
            <>
              <dt>{t.due}</dt>
              <dd>
                <Age at={u.due_at} />
              </dd>
            </>
          )}
          {(u.content_type || u.content_length != null) && (
            <>
              <dt>{t.answer}</dt>
              <dd>
                {[u.content_type, u.content_length != null && bytes(u.content_length, language)]
                  .filter(Boolean)
                  .join(', ')}
              </dd>
            </>
          )}
          {u.redirect_to && (
            <>
              <dt>{t.redirectTo}</dt>
              <dd>
                <Out href={u.redirect_to}>
                  <span className="m">{u.redirect_to}</span>
                </Out>
              </dd>
            </>
          )}
          {u.error && (
            <>
              <dt>{t.error}</dt>
              <dd className="m">{u.error.slice(0, 500)}</dd>
            </>
          )}
          <dt>{t.retries}</dt>
          <dd>{t.ofRetries(u.retry_count, maxTries)}</dd>
        </dl>
        {u.requests.length > 1 && (
          <details>
            <summary>{t.requests(u.requests.length)}</summary>
            <ul className="because">
              {u.requests.map((q) => (
                <li key={q.try}>
                  {q.try}. {q.http_status ?? named(say.code.fault, q.error_class ?? '')}{' '}
                  {q.took_ms != null && `${q.took_ms}\u00a0ms`} {q.at && <At at={q.at} />}{' '}
                  <span className="mu">{q.worker}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
        <div className="btns">
          {u.links_in_total > few && all !== u.id && (
            <button className="btn" onClick={() => setAll(u.id)}>
              {t.linksHere}
            </button>
          )}
          {failed && p.run.status !== 'CANCELLED' && (
            <Do
              disabled={again.isPending}
              title={t.fetchAgainWhat}
              onClick={() => again.mutate({ id: p.run.id, urls: [u.id], states: [status as 'FAILED'] })}
            >
              {t.fetchAgain}
            </Do>
          )}
          <Copy text={u.normalized_url} short={t.copyAddress} />
          <Out href={u.normalized_url}>{t.open}</Out>
        </div>
        <Trouble error={again.error} />
        {pages.length > 0 && (
          <div className="lk">
            <p className="mu">{t.pagesWith}</p>
            {pages.map((page) => (
              <p key={page.id}>
                <button className="word s" onClick={() => p.onChoose(page.id)}>
                  {page.title || tailOf(page.normalized_url)}
                </button>
                <span className="m mu">{pathOf(page.normalized_url)}</span>
              </p>
            ))}
            {u.links_in_total > pages.length && (
              <p className="mu">{t.andMore(count(u.links_in_total - pages.length, language))}</p>
            )}
          </div>
        )}
        {u.content_length != null && u.took_ms != null && u.links != null && (
          <p className="mu">{t.leadsTo(u.links, count(u.links, language), duration(u.took_ms / 1000, language))}</p>
        )}
      </div>
    </Section>
  )
}

function Close({ onClick }: { onClick: () => void }) {
  const { say } = useSay()
  return (
    <button className="btn q" onClick={onClick}>
      {say.close} <kbd>esc</kbd>
    </button>
  )
}

const tailOf = (address: string) => pathOf(address).split('/').filter(Boolean).at(-1) ?? '/'
