import { Link } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { useSearch, useSearchStats } from '../api/queries'
import { bytes, count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { useFilters } from '../ui/Filter'
import { Empty, Head, Out, Section, Trouble } from '../ui/parts'
import './search.css'

/** marked shows a text with its marks, which the API counts in code points, not in UTF-16 units. */
export function marked(text: string, marks: Schemas['SearchMark'][]): ReactNode[] {
  const points = [...text]
  const parts: ReactNode[] = []
  let end = 0
  for (const m of marks) {
    if (m.start < end || m.end > points.length) continue
    parts.push(points.slice(end, m.start).join(''))
    parts.push(<mark key={m.start}>{points.slice(m.start, m.end).join('')}</mark>)
    end = m.end
  }
  parts.push(points.slice(end).join(''))
  return parts
}

/** Search finds crawled pages as one types, with facets beside them. */
export function Search() {
  const { say, language } = useSay()
  const t = say.search
  const [filters, change] = useFilters()
  const [words, setWords] = useState(filters.q ?? '')
  const search = useSearch(filters)
  const stats = useSearchStats()
  useEffect(() => {
    if (words === (filters.q ?? '')) return
    const timer = setTimeout(() => change({ q: words }), 150)
    return () => clearTimeout(timer)
  })
  const firstPage = search.data?.pages[0]
  const hits = search.data?.pages.flatMap((p) => p.hits) ?? []
  const facet = (name: string, label: string, counts: Schemas['SearchCount'][] | undefined) =>
    !!counts?.length && (
      <Section title={label}>
        {counts.slice(0, 10).map((c) => (
          <p key={c.value}>
            <button
              className="copy"
              aria-pressed={filters[name] === c.value}
              onClick={() => change({ [name]: filters[name] === c.value ? '' : c.value })}
            >
              {filters[name] === c.value ? <b>{c.value} ×</b> : c.value}
            </button>{' '}
            <span className="mu">{count(c.pages, language)}</span>
          </p>
        ))}
      </Section>
    )
  return (
    <>
      <Head title={t.title}>
        <p>{stats.data && t.stats(stats.data.pages, bytes(stats.data.bytes, language))}</p>
      </Head>
      <form className="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label className="ask">
          {t.words}
          <input
            className="in"
            type="search"
            autoFocus
            data-filter=""
            maxLength={500}
            value={words}
            onChange={(e) => setWords(e.target.value)}
          />
        </label>
      </form>
      <Trouble error={search.error} again={() => void search.refetch()} />
      {firstPage && filters.q && (
        <p className="m2" role="status">
          {t.found(firstPage.total, count(firstPage.total, language), firstPage.at_least)}{' '}
          <span className="mu">{Math.round(firstPage.took_ms)} ms</span>
          {firstPage.relaxed && ` · ${t.relaxed}`}
          {firstPage.did_you_mean && (
            <>
              {' '}
              · {t.didYouMean}{' '}
              <button
                className="copy"
                onClick={() => {
                  setWords(firstPage.did_you_mean!)
                  change({ q: firstPage.did_you_mean! })
                }}
              >
                <b>{firstPage.did_you_mean}</b>
              </button>
            </>
          )}
        </p>
      )}
      {!filters.q && <Empty>{t.empty}</Empty>}
      {filters.q && (
        <div className="two results">
          <ol className={search.isPlaceholderData ? 'hits dim' : 'hits'}>
            {hits.map((h) => (
              <li key={h.id}>
                <h2 className="s" lang={h.language}>
                  <Link to={'/search/$id' as '/'} params={{ id: String(h.id) } as never} data-row="">
                    {marked(h.title || h.url, h.title ? h.title_marks : [])}
                  </Link>
                </h2>
                <p className="m mu">
                  <Out href={h.url}>{h.url}</Out>
                </p>
                <p className="s" lang={h.language} dir="auto">
                  {marked(h.snippet.text, h.snippet.marks)}
                </p>
                <p className="mu">
                  {h.type} {h.language} · <Age at={h.crawled_at} />
                  {h.duplicates > 0 && ` · ${t.duplicates(h.duplicates)}`}
                </p>
              </li>
            ))}
            {search.hasNextPage && (
              <li>
                <button
                  className="btn"
                  disabled={search.isFetchingNextPage}
                  onClick={() => void search.fetchNextPage()}
                >
                  {say.more}
                </button>
              </li>
            )}
          </ol>
          <aside>
            {facet('site', t.sites, firstPage?.facets?.sites)}
            {facet('lang', t.languages, firstPage?.facets?.languages)}
            {facet('type', t.types, firstPage?.facets?.types)}
          </aside>
        </div>
      )}
    </>
  )
}
