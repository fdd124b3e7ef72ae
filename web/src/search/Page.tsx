import { useParams } from '@tanstack/react-router'

import { usePage } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Crumb, Head, Out, Section, Trouble } from '../ui/parts'
import './search.css'

/** Page is what is stored of a crawled page: its text as it was read, never its markup. */
export function Page() {
  const { say } = useSay()
  const t = say.search
  const { id } = useParams({ strict: false }) as { id: string }
  const page = usePage(Number(id))
  const p = page.data
  if (!p) return <Trouble error={page.error} again={() => void page.refetch()} />
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
      <Section title={t.text} note={p.text_cut ? t.cut : undefined}>
        <p className="page-text" lang={p.language} dir="auto" tabIndex={0}>
          {p.text}
        </p>
      </Section>
    </>
  )
}
