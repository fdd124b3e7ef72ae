import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'

import type { Schemas } from '../api/client'
import { useCaller, useDo, useMay, useUploads } from '../api/queries'
import { sendFile } from '../api/send'
import { begin, forgetSending, useCutOff, type Sending } from '../api/sending'
import { bytes, count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Head, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { notFilters, Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import './outreach.css'

export const uploadGlyph: Record<Schemas['Upload']['state'], State> = {
  held: 'look',
  received: 'changed',
  splitting: 'changed',
  running: 'changed',
  done: 'done',
  failed: 'failed',
  canceled: 'idle',
}

/** Uploads are the files of contacts, and the place to drop one. */
export function Uploads() {
  const { say } = useSay()
  const tenant = useTenant()
  const ofOne = useOfOne()
  return (
    <>
      <Head title={say.nav.uploads} actions={<Tenants />}>
        <p>{say.outreach.uploadsIntro}</p>
      </Head>
      {!ofOne && <Whose />}
      {ofOne && (
        <>
          <Drop tenant={tenant} />
          <List tenant={tenant} />
        </>
      )}
    </>
  )
}

function Drop({ tenant }: { tenant: string }) {
  const { say, language } = useSay()
  const t = say.outreach
  const navigate = useNavigate()
  const may = useMay('operate')
  const send = useDo(sendFile, 'uploads')
  const [sent, setSent] = useState<{ bytes: number; of: number }>()
  const [sending, setSending] = useState<Sending>()
  const by = useCaller()
  const cut = useCutOff({ by, tenant })
  const [chosen, setChosen] = useState({ hold: true, dryRun: false })
  const [over, setOver] = useState(false)
  const going = send.isPending
  // What was asked for with a file that was cut off holds when that one is chosen again, and for no other file.
  const { hold, dryRun } = (going && sending) || chosen
  const take = (file: File | undefined) => {
    if (!file || !may || going) return
    const begun = begin({ by, tenant, file, hold, dryRun })
    setSending(begun)
    setSent({ bytes: 0, of: file.size })
    send.mutate(
      { sending: begun, file, onSent: (n) => setSent({ bytes: n, of: file.size }) },
      { onSuccess: (u) => void navigate({ to: `/uploads/${u.id}` as '/', search: { tenant: u.tenant } as never }) },
    )
  }
  // A file may be dropped anywhere on the page: beside the box the browser would open it instead.
  const drop = useEffectEvent((e: DragEvent) => {
    if (!e.dataTransfer?.types.includes('Files')) return
    e.preventDefault()
    setOver(e.type === 'dragover')
    if (e.type === 'drop') take(e.dataTransfer.files[0])
  })
  useEffect(() => {
    const end = new AbortController()
    for (const type of ['dragover', 'drop'] as const) window.addEventListener(type, drop, { signal: end.signal })
    window.addEventListener('dragleave', (e) => e.relatedTarget === null && setOver(false), { signal: end.signal })
    return () => end.abort()
  }, [])
  return (
    <>
      <Trouble error={send.error} />
      {!going &&
        cut.map((c) => (
          <p key={c.key} className="ochr" role="status">
            {t.cutOff(c.name, [c.hold && t.hold, c.dryRun && t.dryRun].filter((box) => box !== false).join(', '))}{' '}
            <button className="btn q" onClick={() => forgetSending(c.key)}>
              {t.forget}
            </button>
          </p>
        ))}
      <div className={over ? 'drop over' : 'drop'}>
        <label>
          <b>{going ? t.sending : t.drop}</b>
          <input
            type="file"
            disabled={!may || going}
            onChange={(e) => {
              take(e.target.files?.[0])
              e.target.value = ''
            }}
          />
        </label>
        <label>
          <input
            type="checkbox"
            checked={hold}
            disabled={going}
            onChange={(e) => setChosen({ ...chosen, hold: e.target.checked })}
          />{' '}
          {t.hold}
        </label>
        <label>
          <input
            type="checkbox"
            checked={dryRun}
            disabled={going}
            onChange={(e) => setChosen({ ...chosen, dryRun: e.target.checked })}
          />{' '}
          {t.dryRun}
        </label>
        {going && sent && (
          <span role="status">
            <progress max={1} value={sent.of > 0 ? sent.bytes / sent.of : 0} aria-label={t.sending} />{' '}
            {t.sent(bytes(sent.bytes, language), bytes(sent.of, language))}
          </span>
        )}
        {!may && <span className="mu">{say.needsRole(say.code.role.operate)}</span>}
      </div>
    </>
  )
}

function List({ tenant }: { tenant: string }) {
  const { say, language } = useSay()
  const t = say.outreach
  const [filters] = useFilters()
  const uploads = useUploads({ ...filters, tenant })
  const n = (v: number) => count(v, language)
  const fields = [anyOf('state', t.state, t.uploadStates)]
  return (
    <>
      <FilterBar fields={fields} also={notFilters} />
      <Rows
        label={say.nav.uploads}
        className="named"
        pages={uploads}
        id={(u) => u.id}
        empty={<Nothing fields={fields} never={t.neverUploads} />}
        columns={[
          {
            name: 'file',
            head: t.file,
            className: 'cut',
            cell: (u) => (
              <>
                <Glyph state={uploadGlyph[u.state]} />
                <ToPage className="s" to="/uploads/$id" of={u.id} search={{ tenant: u.tenant }}>
                  {u.file_name}
                </ToPage>
              </>
            ),
          },
          {
            name: 'state',
            head: t.state,
            cell: (u) => t.uploadStates[u.state] + (u.dry_run ? `, ${t.dryRunShort}` : ''),
          },
          { name: 'read', head: t.rows.read(2), className: 'r', cell: (u) => n(u.rows.read) },
          { name: 'new', head: t.rows.new(2), className: 'r', cell: (u) => n(u.rows.new) },
          { name: 'updated', head: t.rows.updated(2), className: 'r', cell: (u) => n(u.rows.updated) },
          { name: 'skipped', head: t.rows.skipped(2), className: 'r', cell: (u) => n(u.rows.skipped) },
          { name: 'duplicate', head: t.rows.duplicate(2), className: 'r', cell: (u) => n(u.rows.duplicate) },
          {
            name: 'invalid',
            head: t.rows.invalid(2),
            className: 'r',
            cell: (u) => <span className={u.rows.invalid > 0 ? 'verm' : ''}>{n(u.rows.invalid)}</span>,
          },
          { name: 'at', head: t.received, className: 'r', cell: (u) => <Age at={u.created_at} /> },
        ]}
      />
    </>
  )
}
