import { useParams } from '@tanstack/react-router'
import { Fragment, useMemo, useRef, useState } from 'react'

import { usePage } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { useFilters } from '../ui/Filter'
import { useShortcuts } from '../ui/keys'
import { Crumb, Head, Out, Section } from '../ui/parts'
import { Unread } from '../ui/Unread'
import './search.css'
import { parts } from './words'

/** Page is what is stored of a crawled page: its text as it was read, never its markup, with the words looked for. */
export function Page() {
  const { say, language } = useSay()
  const t = say.search
  const { id } = useParams({ strict: false }) as { id: string }
  const [filters] = useFilters()
  const page = usePage(Number(id), filters.q)
  const p = page.data
  const text = p?.text ?? ''
  const cut = useMemo(() => parts(text, p?.text_marks ?? []), [text, p?.text_marks])
  const marks = cut.length - 1
  const box = useRef<HTMLParagraphElement>(null)
  const [at, setAt] = useState(-1)
  const go = (by: number) => {
    if (marks === 0) return
    const next = (Math.max(at, by < 0 ? 0 : -1) + by + marks) % marks
    setAt(next)
    box.current?.querySelectorAll('mark')[next]?.scrollIntoView({ block: 'center' })
  }
  useShortcuts([
    { keys: 'n', what: t.nextPlace, act: () => go(1) },
    { keys: 'p', what: t.previousPlace, act: () => go(-1) },
  ])
  if (!p) return <Unread of={page} title={id} crumbs={<Crumb to="/search">{t.title}</Crumb>} />
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
                  ? t.places(marks, count(marks, language))
                  : say.doneOf(count(at + 1, language), count(marks, language))}
              </span>{' '}
              <button className="btn q" disabled={marks === 0} aria-label={t.previousPlace} onClick={() => go(-1)}>
                ↑
              </button>
              <button className="btn q" disabled={marks === 0} aria-label={t.nextPlace} onClick={() => go(1)}>
                ↓
              </button>
            </span>
          ) : undefined
        }
      >
        <p ref={box} className="page-text" lang={p.language} dir="auto" tabIndex={0}>
          {cut.map(([before, word], i) => (
            <Fragment key={i}>
              {before}
              {word && <mark aria-current={i === at || undefined}>{word}</mark>}
            </Fragment>
          ))}
        </p>
      </Section>
    </>
  )
}
