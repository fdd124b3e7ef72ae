import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useMake } from '../api/once'
import { requestDraft, useDraft } from '../api/queries'
import { bytes, duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Copy, Crumb, Head, Heads, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { Do } from '../ui/Do'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import './drafts.css'
import { excerpt, foundFields } from './place'

/** Draft is one product page: each value with its source and its confidence, beside the screenshot. */
export function Draft() {
  const { say, language } = useSay()
  const t = say.draft
  const { id } = useParams({ strict: false }) as { id: string }
  const draft = useDraft(id)
  const again = useMake(requestDraft, 'draft-requests')
  const [path, choose] = useState('')
  const d = draft.data
  if (!d) return <Unread of={draft} title={id} crumbs={<Crumb to="/drafts">{t.title}</Crumb>} />
  const file = (name: string) => `/drafts/${encodeURIComponent(id)}/files/${encodeURIComponent(name)}`
  const screenshot = d.files.find((f) => /\.(png|jpe?g|webp)$/.test(f.name))
  const page = d.files.find((f) => f.name.endsWith('.html'))
  const fields = foundFields(d.draft as Record<string, unknown> | undefined)
  const chosen = fields.find((f) => f.path === path)
  return (
    <>
      <Head
        crumbs={<Crumb to="/drafts">{t.title}</Crumb>}
        title={<span className="s">{d.name || d.url}</span>}
        actions={
          <>
            <Do disabled={again.isPending} onClick={() => again.mutate(asBefore(d))}>
              {t.again}
            </Do>
            <InTemporal workflow={d.workflow} button />
          </>
        }
      >
        <p>
          <Glyph state={d.outcome === 'succeeded' ? 'done' : 'failed'} />
          {t.outcomes[d.outcome]} · <Out href={d.final_url ?? d.url} /> · HTTP {d.status ?? '–'} ·{' '}
          {duration(d.took_ms / 1000, language)} · <Age at={d.crawled_at} />
        </p>
        {d.secrets && (
          <p className="mu">
            {t.hadSecrets} <ToPage to="/drafts/requests">{t.requests}</ToPage>
          </p>
        )}
        {d.unstable && <p className="ochr">{t.unstable}</p>}
        {d.error && (
          <p className="verm" lang="en">
            {d.error}
          </p>
        )}
      </Head>
      <Trouble error={again.error} />
      {again.data && (
        <p role="status">
          {t.asked}{' '}
          <ToPage to="/drafts/requests/$id" of={again.data.event_id}>
            {t.made}
          </ToPage>
        </p>
      )}
      <div className="two half">
        <Section title={t.fields} wide>
          <table className="found">
            <Heads of={[say.listing.field, say.listing.value, t.source, [t.confidence, 'r']]} />
            <tbody>
              {fields.map((f) => (
                <tr key={f.path} className={f === chosen ? 'chosen' : undefined}>
                  <td>
                    <button className="btn q" aria-pressed={f === chosen} onClick={() => choose(f.path)}>
                      {named(say.code.draft, f.name)}
                    </button>
                  </td>
                  <td className="wrap s">
                    {f.name === 'availability' ? named(t.availabilities, String(f.value)) : valueOf(f.value)}
                  </td>
                  <td>{named(say.code.source, f.source)}</td>
                  <td className="r">
                    <meter
                      min={0}
                      max={1}
                      low={0.5}
                      high={0.8}
                      optimum={1}
                      value={f.confidence}
                      aria-label={t.confidence}
                    />{' '}
                    {f.confidence.toFixed(2)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
        <div>
          <Section title={t.where} note={chosen && <span className="m">{chosen.path}</span>}>
            {chosen ? <pre aria-live="polite">{excerpt(chosen)}</pre> : <p className="mu">{t.pick}</p>}
          </Section>
          {screenshot && (
            <Section title={t.screenshot}>
              <a href={file(screenshot.name)} target="_blank" rel="noreferrer">
                <img className="shot" src={file(screenshot.name)} alt={t.screenshot} loading="lazy" />
              </a>
            </Section>
          )}
          <Section title={say.outreach.identity}>
            <dl className="kv">
              <dt>
                ID <kbd>y</kbd>
              </dt>
              <dd>
                <Copy text={d.id} isID />
              </dd>
              <dt>event_id</dt>
              <dd>
                <Copy text={d.event_id} />{' '}
                <ToPage to="/drafts/requests/$id" of={d.event_id}>
                  {t.made}
                </ToPage>
              </dd>
            </dl>
          </Section>
          <Section title={t.files}>
            <dl className="kv">
              {d.files.map((f) => (
                <div key={f.name} style={{ display: 'contents' }}>
                  <dt>
                    <a href={file(f.name)} target="_blank" rel="noreferrer">
                      {named(say.code.draft, f.name)}
                    </a>
                  </dt>
                  <dd>
                    {bytes(f.bytes, language)} <Copy text={f.sha256} short={`${f.sha256.slice(0, 12)}…`} />
                  </dd>
                </div>
              ))}
            </dl>
          </Section>
        </div>
      </div>
      {d.candidates.length > 0 && (
        <Section title={t.candidates} wide>
          <table className="found">
            <Heads of={[say.listing.field, say.listing.value, t.source, t.whyNot]} />
            <tbody>
              {d.candidates.map((c, i) => (
                <tr key={i}>
                  <td>{named(say.code.draft, c.field)}</td>
                  <td className="wrap s" dir="auto">
                    {c.value}
                  </td>
                  <td>{named(say.code.source, c.source)}</td>
                  <td className="wrap mu">{named(t.reasons, c.why)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Section>
      )}
      {page && (
        <Section title={t.page}>
          <details>
            <summary className="mu">{page.name}</summary>
            <iframe className="page" sandbox="" src={file(page.name)} title={t.page} loading="lazy" />
          </details>
        </Section>
      )}
    </>
  )
}

/** asBefore is the request of a draft, to be made again. Its headers and cookies are not kept. */
export const asBefore = (d: Pick<Schemas['DraftAnswer'], 'url' | 'out_dir' | 'locale'>): Schemas['DraftRequest'] => ({
  url: d.url,
  out_dir: d.out_dir,
  ...(d.locale && { locale: d.locale }),
})

/** valueOf is a value of a field in words: of a list of words, as that of the categories above a product, one after the other. */
const valueOf = (value: unknown) =>
  typeof value === 'string'
    ? value
    : Array.isArray(value) && value.every((one) => typeof one === 'string')
      ? value.join(' › ')
      : JSON.stringify(value)
