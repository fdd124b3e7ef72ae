import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { orderUpload, useDo, useMay, usePreview, useSession, useUpload } from '../api/queries'
import { bytes, count, duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Confirm } from '../ui/Ask'
import { Do } from '../ui/Do'
import { Glyph } from '../ui/Glyph'
import { Crumb, Head, Heads, InTemporal, Section, Trouble } from '../ui/parts'
import { useTenant } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import './outreach.css'
import { Refused } from './Refused'
import { mask, stages } from './stages'
import { uploadGlyph } from './Uploads'

/** Upload is one file: how far it is, four numbers that add up, and the rows that failed. The tab may be closed. */
export function Upload() {
  const { say, language } = useSay()
  const t = say.outreach
  const { id } = useParams({ strict: false }) as { id: string }
  const tenant = useTenant()
  const upload = useUpload(tenant, id)
  const mayOperate = useMay('operate')
  const own = useSession().data?.caller?.tenant // whose key is refused dead letters
  const order = useDo(orderUpload, 'upload', 'uploads')
  const [stopping, stop] = useState(false)
  const u = upload.data
  const preview = usePreview(tenant, id, u?.state === 'held')
  if (!u)
    return (
      <Unread
        of={upload}
        title={id}
        crumbs={
          <Crumb to="/uploads" tenant={tenant}>
            {say.nav.uploads}
          </Crumb>
        }
      />
    )
  const n = (v: number) => count(v, language)
  const open = !['done', 'failed', 'canceled'].includes(u.state)
  const left = u.seconds_left
  const stored = u.rows.new + u.rows.updated
  return (
    <>
      <Head
        crumbs={
          <Crumb to="/uploads" tenant={tenant}>
            {say.nav.uploads}
          </Crumb>
        }
        title={<span className="s">{u.file_name}</span>}
        actions={
          <>
            {u.state === 'held' && (
              <Do
                className="btn p"
                disabled={order.isPending}
                onClick={() => order.mutate({ tenant, id, order: 'start' })}
              >
                {say.start}
              </Do>
            )}
            {open && (
              <Do disabled={order.isPending} onClick={() => stop(true)}>
                {t.cancelUpload} …
              </Do>
            )}
            {u.rows.invalid > 0 && mayOperate && (
              <a
                className="btn"
                href={`/uploads/${encodeURIComponent(id)}/errors.csv?tenant=${encodeURIComponent(tenant)}`}
                download
              >
                {t.failedRows}
              </a>
            )}
            {u.state === 'failed' && !own && (
              <ToPage className="btn" to="/dead-letters" search={{ workflow_id: u.workflow.id }}>
                {t.resumeByReplay}
              </ToPage>
            )}
            <InTemporal workflow={u.workflow} button />
          </>
        }
      >
        <p>
          <Glyph state={uploadGlyph[u.state]} />
          {t.uploadStates[u.state]} · {bytes(u.bytes, language)} · {u.created_by} · <Age at={u.created_at} />
          {u.rows_per_second !== undefined && open && <> · {t.rate(u.rows_per_second)}</>}
          {left !== undefined && open && <> · {say.run.left(duration(left, language))}</>}
        </p>
        {u.error && <p className="verm">{u.error}</p>}
        {u.warning && <p className="ochr">{u.warning}</p>}
        {u.dry_run && <p className="ochr">{t.dryRunNote}</p>}
        {open && u.state !== 'held' && <p className="mu">{t.safeToClose}</p>}
      </Head>
      {stopping && (
        <Confirm
          title={t.cancelUpload}
          onYes={() => order.mutate({ tenant, id, order: 'cancel' })}
          onClose={() => stop(false)}
        >
          <h2 className="s">{u.file_name}</h2>
          <p>{t.cancelUploadNote(stored, n(stored))}</p>
        </Confirm>
      )}
      <Trouble error={order.error} />
      {u.state !== 'held' && (
        <Section title={t.progress}>
          <Stages upload={u} />
          <div className="funnel">
            {(['read', 'new', 'updated', 'skipped', 'duplicate', 'invalid'] as const).map((name) => (
              <div key={name}>
                <b className={name === 'invalid' && u.rows.invalid > 0 ? 'verm' : ''}>{n(u.rows[name])}</b>
                <span>{t.rows[name](u.rows[name])}</span>
              </div>
            ))}
          </div>
          <p className="mu">{t.adds(u.rows.read, stored, u.rows.duplicate, u.rows.invalid, u.rows.skipped)}</p>
        </Section>
      )}
      {u.rows.invalid > 0 && <Refused tenant={tenant} upload={u} />}
      {u.state === 'held' && (
        <>
          <Trouble error={preview.error} />
          {preview.data && <Preview preview={preview.data} />}
        </>
      )}
    </>
  )
}

/** Stages are how far the rows are: read, found valid, stored. */
function Stages({ upload: u }: { upload: Schemas['Upload'] }) {
  const { say, language } = useSay()
  const t = say.outreach
  return (
    <dl className="stages">
      {stages(u).map((s) => (
        <div key={s.name}>
          <dt>{t.stages[s.name]}</dt>
          <dd>
            <progress max={1} value={s.share} aria-label={t.stages[s.name]} />{' '}
            {t.ofAbout(count(s.n, language), count(s.of, language), s.exact)}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Preview is how the file would be read: its form, what each column is taken for and why, and its first rows. */
function Preview({ preview: p }: { preview: Schemas['UploadPreview'] }) {
  const { say } = useSay()
  const t = say.outreach
  return (
    <>
      <Section title={t.columns} note={p.columns.length} wide>
        <table>
          <Heads of={[t.header, say.listing.field, [say.draft.confidence, 'r'], [t.why, 'gap']]} />
          <tbody>
            {p.columns.map((c, i) => (
              <tr key={i}>
                <td className="s">{c.header || '–'}</td>
                <td>
                  <b>{c.field ? named(say.code.contact, c.field) : '–'}</b>
                </td>
                <td className="r">{c.confidence.toFixed(2)}</td>
                <td className="gap wrap mu">{c.why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={t.form} wide>
        <table>
          <tbody>
            {p.reasons.map((r) => (
              <tr key={r.setting}>
                <td className="mu">{r.setting}</td>
                <td className="m">{r.value}</td>
                <td className="wrap mu">{r.why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section title={t.firstRows} note={p.rows.length} wide>
        <table>
          <tbody>
            {p.rows.map((r) => (
              <tr key={r.number}>
                <td className="r mu" style={{ width: 50, paddingRight: 10 }}>
                  {r.line}
                </td>
                <td>
                  <Glyph state={r.problems?.length ? 'failed' : 'done'} />
                  {r.problems?.length ? (
                    <span className="verm">
                      {r.problems
                        .map((x) => `${named(say.code.contact, x.field ?? '')} ${named(t.problems, x.code)}`.trim())
                        .join('; ')}
                    </span>
                  ) : (
                    [r.contact?.name, mask(r.contact?.phone ?? r.contact?.email ?? '')].filter(Boolean).join(', ')
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </>
  )
}
