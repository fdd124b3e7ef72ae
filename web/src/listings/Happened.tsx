import type { Schemas } from '../api/client'
import { useAudit, useMay } from '../api/queries'
import { count, money, named } from '../say/format'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { Glyph, type State } from '../ui/Glyph'
import { Section } from '../ui/parts'
import { ToPage } from '../ui/ToPage'

type Advert = Schemas['Advert']

const eventGlyph: Record<string, State> = { created: 'done', price: 'changed', status: 'idle' }

/** Happened is what was done with an advert, and by whom: changes, decisions of persons, and what failed. */
export function Happened({ advert: a }: { advert: Advert }) {
  const { say, language } = useSay()
  const t = say.listing
  const may = useMay('admin') // the activity of callers is for them only
  const actions = [
    useAudit({ subject: `listing/${a.audit.platform}/${a.audit.platform_id}` }, may),
    useAudit({ subject: `listing/${a.id}` }, may),
  ].flatMap((q) => q.data?.pages[0]?.items ?? [])
  const rows: { key: string; at: string; state: State; what: React.ReactNode; note?: React.ReactNode }[] = [
    ...a.history.map((h, i) => ({
      key: `h${i}`,
      at: h.at,
      state: eventGlyph[h.kind] ?? ('done' as const),
      what: (
        <>
          <b>{t.event[h.kind] ?? h.kind}</b>
          {h.new_rent_cents != null && ', '}
          {h.old_rent_cents != null && `${money(h.old_rent_cents)} → `}
          {h.new_rent_cents != null && money(h.new_rent_cents)}{' '}
          {h.old_status && `${t.statuses[h.old_status] ?? h.old_status} → `}
          {h.kind === 'status' && h.new_status && (t.statuses[h.new_status] ?? h.new_status)}
        </>
      ),
      note: t.revision(h.revision),
    })),
    ...actions.map((e) => ({
      key: `a${e.id}`,
      at: e.at,
      state: 'changed' as const,
      what: (
        <>
          <b>{e.action.replaceAll(/[._]/g, ' ')}</b> {say.duplicate.by(e.actor)}
        </>
      ),
      note: <span className="m">{detail(e.detail)}</span>,
    })),
    ...a.dead_letters.map((d) => ({
      key: `d${d.id}`,
      at: d.last_at,
      state: 'failed' as const,
      what: (
        <>
          <ToPage to="/dead-letters/$id" of={d.id}>
            <b>{t.deadLetter(d.id)}</b>
          </ToPage>{' '}
          <bdi lang="en">{d.reason}</bdi>
        </>
      ),
      note: named(say.letter.states, d.state),
    })),
  ].sort((x, y) => Date.parse(y.at) - Date.parse(x.at))
  const folded = a.audit.scrapes - a.audit.revision
  return (
    <Section
      title={t.happened}
      note={folded > 0 ? t.folded(folded, count(folded, language)) : undefined}
      go={
        may && (
          <ToPage to="/activity" search={{ subject: `listing/${a.audit.platform}/${a.audit.platform_id}` }}>
            {t.allActivity}
          </ToPage>
        )
      }
    >
      <ul className="au">
        {rows.map((r) => (
          <li key={r.key}>
            <At at={r.at} />
            <Glyph state={r.state} />
            <p>
              {r.what} <span>{r.note}</span>
            </p>
          </li>
        ))}
      </ul>
    </Section>
  )
}

const detail = (d: unknown) =>
  typeof d === 'object' && d !== null
    ? Object.entries(d)
        .map(([k, v]) => `${k} ${typeof v === 'object' ? JSON.stringify(v) : String(v)}`)
        .join(', ')
        .slice(0, 200)
    : ''
