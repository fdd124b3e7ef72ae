import { useState, type ReactNode } from 'react'

import type { Schemas } from '../api/client'
import { orderCampaign, startCampaign, useAudience, useDo } from '../api/queries'
import { count, deviceZone } from '../say/format'
import { useSay } from '../say/Say'
import { Ask, Close, typeAbove, TypeNumber } from '../ui/Ask'
import { Do } from '../ui/Do'
import { Trouble } from '../ui/parts'

export type Order = 'pause' | 'resume' | 'cancel'

/** Sure asks before n messages are sent; of many the number has to be typed. */
export function Sure(p: {
  title: string
  n: number | undefined // undefined = not known yet: nothing can be sent
  error: unknown
  going: boolean
  act: () => void
  onClose: () => void
  children: ReactNode
}) {
  const [typed, setTyped] = useState('')
  const mustType = p.n !== undefined && p.n > typeAbove
  return (
    <Ask title={p.title} onClose={p.onClose}>
      <h2>{p.title}</h2>
      {p.children}
      {mustType && <TypeNumber n={p.n!} typed={typed} onType={setTyped} />}
      <Trouble error={p.error} />
      <div className="btns">
        <Do
          className="btn p"
          disabled={p.going || p.n === undefined || (mustType && typed !== String(p.n))}
          onClick={p.act}
        >
          {p.title}
        </Do>
        <Close onClick={p.onClose} />
      </div>
    </Ask>
  )
}

/** Start says whom a draft would be sent to, and then begins it: now, or at a time of this device's clock. */
export function Start(p: { campaign: Schemas['CampaignDetail']; tenant: string; onClose: () => void }) {
  const { say, language } = useSay()
  const t = say.outreach
  const { id, name } = p.campaign
  const start = useDo(startCampaign, 'campaign', 'campaigns')
  const audience = useAudience(p.tenant, id)
  const [at, setAt] = useState('')
  const a = audience.data
  const n = (v: number) => count(v, language)
  return (
    <Sure
      title={at ? t.schedule : t.startTitle}
      n={a?.to_send}
      error={start.error ?? audience.error}
      going={start.isPending}
      act={() =>
        start.mutate(
          { tenant: p.tenant, id, at: at ? new Date(at).toISOString() : undefined },
          { onSuccess: p.onClose },
        )
      }
      onClose={p.onClose}
    >
      <p className="s">{name}</p>
      {a && (
        <p role="status">
          <b>{t.wouldSend(a.to_send, (a.more ? '≥ ' : '') + n(a.to_send))}</b> {t.leftOut(a.opted_out, a.without_phone)}
        </p>
      )}
      <label>
        {t.startAt}, {deviceZone()}{' '}
        <input className="in" type="datetime-local" value={at} onChange={(e) => setAt(e.target.value)} />
      </label>
    </Sure>
  )
}

/** Confirm says what an order would do to how many messages, and then does it. */
export function Confirm(p: { campaign: Schemas['CampaignDetail']; order: Order; tenant: string; onClose: () => void }) {
  const { say, language } = useSay()
  const t = say.outreach
  const order = useDo(orderCampaign, 'campaign', 'campaigns', 'messages')
  const c = p.campaign
  const [reason, setReason] = useState('')
  return (
    <Ask title={t.orders[p.order]} onClose={p.onClose}>
      <h2>{t.orders[p.order]}</h2>
      <p className="s">{c.name}</p>
      <p>{t.effect[p.order](c.counts.waiting, count(c.counts.waiting, language))}</p>
      {p.order !== 'resume' && (
        <label>
          {t.reason}{' '}
          <input className="in" maxLength={1000} value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
      )}
      <Trouble error={order.error} />
      <div className="btns">
        <Do
          className="btn p"
          disabled={order.isPending}
          onClick={() => order.mutate({ tenant: p.tenant, id: c.id, order: p.order, reason }, { onSuccess: p.onClose })}
        >
          {t.orders[p.order]}
        </Do>
        <Close onClick={p.onClose} />
      </div>
    </Ask>
  )
}
