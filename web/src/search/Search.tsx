import { Fragment, useId } from 'react'

import type { Schemas } from '../api/client'
import { useOthers, useSearch, useSearchStats, useSuggestions } from '../api/queries'
import { bytes, count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { each, toggle } from '../ui/filters'
import { useFilters } from '../ui/Filter'
import { Empty, Head, Out, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { useTyped } from '../ui/typed'
import { Reading } from '../ui/Unread'
import { Views } from '../ui/Views'
import './search.css'
import { begun, completed, monthOf, parts } from './words'

/** Marked shows a text with its marks. */
const Marked = ({ text, marks }: { text: string; marks: Schemas['SearchMark'][] }) =>
  parts(text, marks).map(([before, word], i) => (
    <Fragment key={i}>
      {before}
      {word && <mark>{word}</mark>}
    </Fragment>
  ))

/** Search finds crawled pages as one types, with facets beside them. */
export function Search() {
  const { say, language } = useSay()
  const t = say.search
  const [filters, change] = useFilters()
  const [words, setWords] = useTyped(filters.q ?? '', (q) => change({ q }), 150)
  const search = useSearch(filters)
  const stats = useSearchStats()
  const firstPage = search.data?.pages[0]
  const hits = search.data?.pages.flatMap((p) => p.hits) ?? []
  const facets = firstPage?.facets
  // A facet that is chosen from goes on to show what else there is: several of its values are any of them.
  const sites = useOthers(filters, 'site').data?.sites
  const languages = useOthers(filters, 'lang').data?.languages
  const types = useOthers(filters, 'type').data?.types
  const months = useOthers(filters, 'from', 'to').data?.months
  const list = useId()
  const suggestions = useSuggestions(begun(words) ? words : '')
  const facet = (name: string, label: string, counts: Counts | undefined) => (
    <Facet
      label={label}
      counts={counts}
      chosen={each(filters[name])}
      choose={(v) => change({ [name]: toggle(filters[name], v, []) })}
    />
  )
  const month = facets?.months.concat(months ?? []).find((m) => monthOf(m.value).from === filters.from)?.value
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
            list={list}
            data-filter=""
            maxLength={500}
            value={words}
            onChange={(e) => setWords(e.target.value)}
          />
          <datalist id={list}>
            {begun(words) && suggestions.data?.map((w) => <option key={w} value={completed(words, w)} />)}
          </datalist>
        </label>
        {Object.keys(filters).some((name) => name !== 'q') && (
          <button
            type="button"
            className="btn q"
            onClick={() =>
              change(Object.fromEntries(Object.keys(filters).map((n) => [n, n === 'q' ? filters.q! : ''])))
            }
          >
            {say.clear}
          </button>
        )}
      </form>
      <Views />
      <Trouble error={search.error} again={() => void search.refetch()} />
      {firstPage && filters.q && (
        <p className="m2" role="status">
          {t.found(firstPage.total, count(firstPage.total, language), firstPage.at_least)}{' '}
          <span className="mu">{Math.round(firstPage.took_ms)} ms</span>
          {firstPage.cut && ` · ${t.cutQuery}`}
          {firstPage.relaxed && ` · ${t.relaxed}`}
          {firstPage.did_you_mean && (
            <>
              {' '}
              · {t.didYouMean}{' '}
              <button className="copy" onClick={() => change({ q: firstPage.did_you_mean! })}>
                <b>{firstPage.did_you_mean}</b>
              </button>
            </>
          )}
        </p>
      )}
      {search.isLoading && <Reading />}
      {!filters.q && <Empty>{t.empty}</Empty>}
      {filters.q && (
        <div className="two results">
          <ol className={search.isPlaceholderData ? 'hits dim' : 'hits'}>
            {hits.map((h) => (
              <li key={h.id}>
                <h2 className="s" lang={h.language}>
                  <ToPage to="/search/$id" of={h.id} search={{ q: filters.q }} data-row="">
                    <Marked text={h.title || h.url} marks={h.title ? h.title_marks : []} />
                  </ToPage>
                </h2>
                <p className="m mu">
                  <Out href={h.url}>{h.url}</Out>
                </p>
                <p className="s" lang={h.language} dir="auto">
                  <Marked {...h.snippet} />
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
            {facet('site', t.sites, filters.site ? sites : facets?.sites)}
            {facet('lang', t.languages, filters.lang ? languages : facets?.languages)}
            {facet('type', t.types, filters.type ? types : facets?.types)}
            <Facet
              label={t.months}
              counts={filters.from ? months : facets?.months}
              chosen={month ? [month] : []}
              choose={(v) => change(v === month ? { from: '', to: '' } : monthOf(v))}
            />
          </aside>
        </div>
      )}
    </>
  )
}

type Counts = Schemas['SearchCount'][]

const facetRows = 10

/** Facet is what the answers are, by one of their properties: its commonest values, and those that are chosen. */
function Facet(p: { label: string; counts: Counts | undefined; chosen: string[]; choose: (value: string) => void }) {
  const { language } = useSay()
  const counts = p.counts ?? []
  const shown = counts.filter((c, i) => i < facetRows || p.chosen.includes(c.value))
  // A value that is chosen and of which there is nothing is shown, to be taken back.
  const none = p.chosen.filter((v) => !counts.some((c) => c.value === v)).map((value) => ({ value, pages: 0 }))
  if (shown.length + none.length === 0) return null
  return (
    <Section title={p.label}>
      {[...none, ...shown].map((c) => (
        <p key={c.value}>
          <button className="copy" aria-pressed={p.chosen.includes(c.value)} onClick={() => p.choose(c.value)}>
            {p.chosen.includes(c.value) ? <b>{c.value} ×</b> : c.value}
          </button>{' '}
          <span className="mu">{count(c.pages, language)}</span>
        </p>
      ))}
    </Section>
  )
}
