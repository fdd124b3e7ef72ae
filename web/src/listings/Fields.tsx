import { useState, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { day, money, named, rooms } from '../say/format'
import { useSay } from '../say/Say'
import { Glyph } from '../ui/Glyph'
import { Heads, Json, Section } from '../ui/parts'
import { changes, words, type Change } from './diff'
import { flat } from './flat'

type Details = Schemas['Listing']
type Revision = Schemas['RawRevision']

// Fields that are shown elsewhere on the page, or are lists of their own.
const elsewhere = [
  'title',
  'description',
  'url',
  'platform',
  'platform_id',
  'sources',
  'warnings',
  'image_urls',
  'scraped_at',
  'units',
  'latitude',
  'longitude',
]

/** Fields are the values that were read, beside the words that they were read from. Pointing at one shows the other. */
export function Fields(p: { details: Details; revisions: Revision[]; children: ReactNode }) {
  const { details, revisions } = p
  const [chosen, choose] = useState<string>()
  return (
    <div className="two half">
      <Read details={details} chosen={chosen} choose={choose} />
      <div>
        <Text details={details} revisions={revisions} chosen={chosen} choose={choose} />
        {p.children}
      </div>
    </div>
  )
}

interface Chosen {
  chosen: string | undefined
  choose: (field: string | undefined) => void
}

/** Read is the table of fields: value, source and the words. */
function Read(p: { details: Details } & Chosen) {
  const { say, language, zone } = useSay()
  const t = say.listing
  const sources = p.details.sources as Record<string, Schemas['Source'] | undefined>
  const rows: { field: string; label: string; value: string; source?: Schemas['Source'] }[] = []
  for (const [field, value] of Object.entries(p.details)) {
    if (elsewhere.includes(field)) continue
    const text =
      typeof value === 'number' && field.endsWith('_cents')
        ? money(value)
        : typeof value === 'number' && field === 'rooms'
          ? rooms(value)
          : field === 'posted_at'
            ? day(new Date(String(value)), zone, language)
            : flat(value, say)
    if (text === '') continue
    const source = sources[field] ?? Object.entries(sources).find(([name]) => name.startsWith(field + '.'))?.[1]
    rows.push({ field, label: named(say.code.field, field), value: text, source })
  }
  const warnings = p.details.warnings ?? []
  const without = warnings.filter((w) => !rows.some((r) => r.field === w.field))
  const warning = (w: Schemas['Warning']) => (
    <tr key={w.code + w.field + w.message}>
      <td colSpan={4} className="ochr wrap">
        <Glyph state="look" />
        {named(say.code.field, w.field)}: <bdi lang="en">{w.message}</bdi>
      </td>
    </tr>
  )
  return (
    <Section title={t.read} note={t.readNote(rows.length, warnings.length)} wide>
      <table className="rd">
        <Heads of={[t.field, t.value, t.readFrom, t.words]} />
        <tbody>
          {rows.map((r) => [
            <tr
              key={r.field}
              className={p.chosen === r.field ? 'on' : ''}
              onMouseEnter={() => p.choose(r.field)}
              onMouseLeave={() => p.choose(undefined)}
            >
              <td>
                <button
                  className="field"
                  aria-pressed={p.chosen === r.field}
                  onFocus={() => p.choose(r.field)}
                  onBlur={() => p.choose(undefined)}
                  onClick={() => p.choose(r.field)}
                >
                  {r.label}
                </button>
              </td>
              <td>{r.value}</td>
              <td>{r.source && named(say.code.from, r.source.from)}</td>
              <td className={r.source?.name ? 'm' : 's'}>
                {[r.source?.name, r.source?.text].filter(Boolean).join(' = ')}
              </td>
            </tr>,
            ...warnings.filter((w) => w.field === r.field).map(warning),
          ])}
          {without.map(warning)}
        </tbody>
      </table>
    </Section>
  )
}

type Shown = 'text' | 'diff' | 'payload'

/** Text is what the advert says: as text, as what changed between its last revisions, or as it was received. */
function Text({ details, revisions, chosen, choose }: { details: Details; revisions: Revision[] } & Chosen) {
  const { say } = useSay()
  const t = say.listing
  const [show, setShow] = useState<Shown>('text')
  const [now, was] = [...revisions].sort((a, b) => b.revision - a.revision).filter((r) => r.payload)
  return (
    <Section
      title={t.text_}
      go={
        <span className="seg" role="group" aria-label={t.text_}>
          {(
            ['text', ...(now && was ? (['diff'] as const) : []), ...(now ? (['payload'] as const) : [])] as Shown[]
          ).map((one) => (
            <button key={one} aria-pressed={show === one} onClick={() => setShow(one)}>
              {one === 'diff' ? t.revisions(was!.revision, now!.revision) : t.shown[one]}
            </button>
          ))}
        </span>
      }
    >
      {show === 'text' && <Words details={details} chosen={chosen} choose={choose} />}
      {show === 'diff' && now && was && <Changes changes={changes(was.payload, now.payload)} />}
      {show === 'payload' && now && <Payload revision={now} />}
    </Section>
  )
}

/** Payload is a revision as it was received. */
export function Payload({ revision: r }: { revision: Revision }) {
  const { say, language, zone } = useSay()
  const t = say.listing
  return (
    <>
      <p className="mu">
        {t.revision(r.revision)}, {day(new Date(r.received_at), zone, language)}
        {r.hidden > 0 && `; ${t.withheldMembers(r.hidden)}`}
      </p>
      <Json value={r.payload} />
    </>
  )
}

function Changes({ changes: list }: { changes: Change[] }) {
  const { say } = useSay()
  const t = say.listing
  if (list.length === 0) return <p className="empty">{t.noChanges}</p>
  return (
    <dl className="changes">
      {list.map((c) => (
        <div key={c.path}>
          <dt className="m">{c.path}</dt>
          <dd className="s" dir="auto">
            {words(c.was ?? '', c.now ?? '').map((part, i) =>
              part.kind === 'same' ? (
                <span key={i}>{part.text}</span>
              ) : part.kind === 'gone' ? (
                <del key={i}>{part.text}</del>
              ) : (
                <ins key={i}>{part.text}</ins>
              ),
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Words is the advert's text with the words that fields were read from underlined. It is never markup. */
function Words({ details: d, chosen, choose }: { details: Details } & Chosen) {
  const { say } = useSay()
  const text = d.description
  const folded = text.toLowerCase()
  const found: { from: number; to: number; field: string }[] = []
  const warned = new Set(d.warnings?.map((w) => w.field))
  for (const [field, source] of Object.entries(d.sources as Record<string, Schemas['Source']>)) {
    if (!source?.text || source.text.length < 2 || source.from !== 'description') continue
    let at = text.indexOf(source.text)
    if (at < 0 && folded.length === text.length) at = folded.indexOf(source.text.toLowerCase())
    if (at >= 0) found.push({ from: at, to: at + source.text.length, field: field.split('.')[0]! })
  }
  found.sort((a, b) => a.from - b.from || b.to - a.to)
  const parts: ReactNode[] = []
  let end = 0
  for (const f of found) {
    if (f.from < end) continue // within words that are marked already
    parts.push(text.slice(end, f.from))
    parts.push(
      <mark
        key={f.from}
        title={named(say.code.field, f.field)}
        className={[f.field === chosen ? 'on' : '', warned.has(f.field) ? 'look' : ''].join(' ').trim()}
        onMouseEnter={() => choose(f.field)}
        onMouseLeave={() => choose(undefined)}
      >
        {text.slice(f.from, f.to)}
      </mark>,
    )
    end = f.to
  }
  parts.push(text.slice(end))
  return (
    <p className="adv" dir="auto" lang={d.language} tabIndex={0}>
      {parts}
    </p>
  )
}
