import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useComparison, useRuns } from '../api/crawl'
import { count, named } from '../say/format'
import { useSay } from '../say/Say'
import { ReadOn, useFilters } from '../ui/Filter'
import { Crumb, Empty, Head, Heads, Out, Section, Trouble } from '../ui/parts'
import { readsOn } from '../ui/readOn'
import { ToPage } from '../ui/ToPage'
import { Reading } from '../ui/Unread'
import { pathOf } from './states'

type Kind = 'only_a' | 'only_b' | 'different'

const kinds: Kind[] = ['only_a', 'only_b', 'different']
const first = 200 // rows that are shown before more are asked for

/** Compare shows which URLs two runs do not have in common. The runs, and what is shown, are the address. */
export function Compare() {
  const { say, language } = useSay()
  const t = say.run
  const [filters, change] = useFilters()
  const [a, b] = [Number(filters.a) || 0, Number(filters.b) || 0]
  const runs = useRuns({})
  const known = runs.data?.pages.flatMap((page) => page.items) ?? []
  const compared = useComparison(a, b)
  const c = a && b ? compared.data : undefined
  const totals: Record<Kind, number> | undefined = c && {
    only_a: c.only_a_total,
    only_b: c.only_b_total,
    different: c.different_total,
  }
  const asked = kinds.find((k) => k === filters.show)
  const kind = asked ?? kinds.find((k) => totals?.[k]) ?? 'only_a'
  const rows = c?.[kind] ?? []
  const [all, setAll] = useState(false)
  const shown = all ? rows : rows.slice(0, first)
  return (
    <>
      <Head crumbs={<Crumb to="/crawl">{t.title}</Crumb>} title={t.compareTitle}>
        <p>{t.compareIntro}</p>
      </Head>
      <form className="filters" onSubmit={(e) => e.preventDefault()}>
        <Choice label={t.runA} value={a} runs={known} onChange={(v) => change({ a: v })} />
        <Choice label={t.runB} value={b} runs={known} onChange={(v) => change({ b: v })} />
        <ReadOn label={t.title} onClick={readsOn(runs)} />
      </form>
      <Trouble
        error={runs.error ?? compared.error}
        again={() => void (runs.error ? runs.refetch() : compared.refetch())}
      />
      {!(a && b) && <Empty>{t.chooseTwo}</Empty>}
      {compared.isLoading && <Reading />}
      {c?.equal && <Empty>{t.equal}</Empty>}
      {c && !c.equal && totals && (
        <Section
          title={t.show}
          note={
            <span className="tabs">
              {kinds.map((k) => (
                <button key={k} aria-pressed={k === kind} onClick={() => change({ show: k })}>
                  {t.differences[k]} {count(totals[k], language)}
                </button>
              ))}
            </span>
          }
          wide
        >
          <table>
            <Heads of={[t.url, t.inA, t.inB]} />
            <tbody>
              {shown.map((row) => (
                <tr key={row.normalized_url}>
                  <td className="wrap">
                    <Out href={row.normalized_url}>
                      <span className="m">{pathOf(row.normalized_url)}</span>
                    </Out>
                  </td>
                  <Outcome run={a} of={row.a} />
                  <Outcome run={b} of={row.b} />
                </tr>
              ))}
            </tbody>
          </table>
          {rows.length === 0 && <Empty>{t.nothingHere}</Empty>}
          <p className="more mu">
            {shown.length < totals[kind] && t.firstOf(count(shown.length, language), count(totals[kind], language))}{' '}
            {shown.length < rows.length && (
              <button className="btn" onClick={() => setAll(true)}>
                {say.more}
              </button>
            )}
          </p>
        </Section>
      )}
    </>
  )
}

function Choice(p: { label: string; value: number; runs: Schemas['CrawlRun'][]; onChange: (run: string) => void }) {
  const t = useSay().say.run
  const listed = p.runs.some((r) => r.id === p.value)
  return (
    <label>
      {p.label}
      <select className="in" value={p.value || ''} onChange={(e) => p.onChange(e.target.value)}>
        <option value="">{t.chooseRun}</option>
        {p.value > 0 && !listed && <option value={p.value}>{p.value}</option>}
        {p.runs.map((r) => (
          <option key={r.id} value={r.id}>
            {r.id} · {r.seed_url.slice(0, 60)} · {t.states[r.status]}
          </option>
        ))}
      </select>
    </label>
  )
}

function Outcome({ run, of }: { run: number; of: Schemas['CrawlOutcome'] | null }) {
  const { say } = useSay()
  if (!of) return <td className="mu">–</td>
  return (
    <td>
      <ToPage to="/crawl/$id" of={run} search={{ url: String(of.id) }}>
        {named(say.code.url, of.status)} {of.http_status ?? ''}
      </ToPage>
    </td>
  )
}
