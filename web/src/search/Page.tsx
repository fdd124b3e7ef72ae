import { useParams } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'

import { usePage } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { useFilters } from '../ui/Filter'
import { useShortcuts } from '../ui/keys'
import { Crumb, Head, Out, Section, Trouble } from '../ui/parts'
import './search.css'
import { units } from './words'

/** Page is what is stored of a crawled page: its text as it was read, never its markup, with the words looked for. */
export function Page() {
  const { say, language } = useSay()
  const t = say.search
  const { id } = useParams({ strict: false }) as { id: string }
  const [filters] = useFilters()
  const page = usePage(Number(id), filters.q)
  const p = page.data
  const text = p?.text ?? ''
  const marks = useMemo(() => units(text, p?.text_marks ?? []), [text, p?.text_marks])
  const box = useRef<HTMLParagraphElement>(null)
  const [at, setAt] = useState(-1)
  const go = (by: number) => {
    if (marks.length === 0) return
    const next = (Math.max(at, by < 0 ? 0 : -1) + by + marks.length) % marks.length
    setAt(next)
    box.current?.querySelectorAll('mark')[next]?.scrollIntoView({ block: 'center' })
  }
  useShortcuts([
    { keys: 'n', what: t.nextPlace, act: () => go(1) },
    { keys: 'p', what: t.previousPlace, act: () => go(-1) },
  ])
  if (!p) return <Trouble error={page.error} again={() => void page.refetch()} />
  const parts = marks.map((m, i) => [text.slice(i === 0 ? 0 : marks[i - 1]!.end, m.start), text.slice(m.start, m.end)])
  const rest = text.slice(marks.at(-1)?.end ?? 0)
  return (
    <>
      <Head crumbs={<Crumb to="/search">{t.title}</Crumb>} title={<span className="s">{p.title || p.url}</span>}>
        <p>
          <Out href={p.url}>
            <span className="m">{p.url}</span>
          </Out>{' '}
          · HTTP {p.status_code} · {p.type} {p.language} · <Age at={p.crawled_at} />
        </p>
        {p.description && <p className="s">{p.description}</p>}
      </Head>
      <Section
        title={t.text}
        note={p.text_cut ? t.cut : undefined}
        go={
          filters.q ? (
            <span className="places">
              <span role="status">
                {at < 0
                  ? t.places(marks.length, count(marks.length, language))
                  : say.doneOf(count(at + 1, language), count(marks.length, language))}
              </span>{' '}
              <button
                className="btn q"
                disabled={marks.length === 0}
                aria-label={t.previousPlace}
                onClick={() => go(-1)}
              >
                ↑
              </button>
              <button className="btn q" disabled={marks.length === 0} aria-label={t.nextPlace} onClick={() => go(1)}>
                ↓
              </button>
            </span>
          ) : undefined
        }
      >
        <p ref={box} className="page-text" lang={p.language} dir="auto" tabIndex={0}>
          {parts.map(([before, word], i) => (
            <span key={i}>
              {before}
              <mark aria-current={i === at || undefined}>{word}</mark>
            </span>
          ))}
          {rest}
        </p>
      </Section>
    </>
  )
}
