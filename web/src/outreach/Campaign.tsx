import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { orderCampaign, retryFailed, useCampaign, useCampaignErrors, useDo, useMessages } from '../api/queries'
import { count, duration, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { FilterBar, useFilters } from '../ui/Filter'
import { Glyph } from '../ui/Glyph'
import { Crumb, Head, InTemporal, Section, Trouble } from '../ui/parts'
import { notFilters, useTenant } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import { Confirm, Start, Sure, type Order } from './CampaignOrders'
import { campaignGlyph } from './Campaigns'
import { List, messageFields } from './Messages'
import { funnel } from './funnel'
import './outreach.css'

/** Campaign is one of them: how far its messages came, why some failed, and the messages. */
export function Campaign() {
  const { say, language } = useSay()
  const t = say.outreach
  const { id } = useParams({ strict: false }) as { id: string }
  const tenant = useTenant()
  const campaign = useCampaign(tenant, id)
  const again = useDo(retryFailed, 'campaign', 'campaigns', 'messages', 'campaign-errors')
  const unschedule = useDo(orderCampaign, 'campaign', 'campaigns')
  const [asked, ask] = useState<Order | 'start' | 'again'>()
  const close = () => ask(undefined)
  const c = campaign.data
  if (!c)
    return (
      <Unread
        of={campaign}
        title={id}
        crumbs={
          <Crumb to="/campaigns" tenant={tenant}>
            {say.nav.campaigns}
          </Crumb>
        }
      />
    )
  const n = (v: number) => count(v, language)
  return (
    <>
      <Head
        crumbs={
          <Crumb to="/campaigns" tenant={tenant}>
            {say.nav.campaigns}
          </Crumb>
        }
        title={<span className="s">{c.name}</span>}
        actions={
          <>
            {c.state === 'draft' && (
              <Do className="btn p" onClick={() => ask('start')}>
                {say.start}
              </Do>
            )}
            {(c.state === 'running' || c.state === 'queued') && <Do onClick={() => ask('pause')}>{say.pause}</Do>}
            {c.state === 'queued' && c.scheduled_at && (
              <Do
                disabled={unschedule.isPending}
                onClick={() => unschedule.mutate({ tenant, id, order: 'unschedule' })}
              >
                {t.unschedule}
              </Do>
            )}
            {c.state === 'paused' && <Do onClick={() => ask('resume')}>{say.resume}</Do>}
            {!['done', 'canceled'].includes(c.state) && <Do onClick={() => ask('cancel')}>{say.cancel}</Do>}
            {c.counts.failed > 0 && c.state !== 'canceled' && (
              <Do disabled={again.isPending} onClick={() => ask('again')}>
                {t.retryFailed}
              </Do>
            )}
            <InTemporal workflow={c.workflow} button />
          </>
        }
      >
        <p>
          <Glyph state={campaignGlyph[c.state]} />
          {t.campaignStates[c.state]}
          {c.reason && `: ${c.reason}`} · {c.created_by} · <Age at={c.created_at} /> · {t.limit(n(c.per_second))}
          {c.state === 'queued' && c.scheduled_at && (
            <>
              {' '}
              · {t.startsAt} <Age at={c.scheduled_at} />
            </>
          )}
          {c.seconds_left !== undefined && <> · {say.run.left(duration(c.seconds_left, language))}</>}
        </p>
        {c.held && <p className="ochr">{c.held}</p>}
        {c.warning && <p className="ochr">{c.warning}</p>}
      </Head>
      <Trouble error={unschedule.error} />
      {again.data && <p role="status">{t.retried(again.data.retried, n(again.data.retried))}</p>}
      {asked === 'start' && <Start campaign={c} tenant={tenant} onClose={close} />}
      {asked === 'again' && (
        <Sure
          title={t.retryFailed}
          n={c.counts.failed}
          error={again.error}
          going={again.isPending}
          act={() => again.mutate({ tenant, id }, { onSuccess: close })}
          onClose={close}
        >
          <p className="s">{c.name}</p>
          <p>{t.retryEffect(c.counts.failed, n(c.counts.failed))}</p>
        </Sure>
      )}
      {asked && asked !== 'start' && asked !== 'again' && (
        <Confirm campaign={c} order={asked} tenant={tenant} onClose={close} />
      )}
      <Section title={t.funnel} note={c.written_at ? undefined : c.frozen_at ? t.stillWritten : undefined}>
        <p role="status">
          <progress max={1} value={c.progress} aria-label={t.progress} /> {Math.round(c.progress * 100)} %
        </p>
        <Funnel counts={c.counts} />
        <p className="mu">
          {t.addsUp(
            c.counts.total,
            c.counts.waiting,
            c.counts.sent + c.counts.delivered + c.counts.read,
            c.counts.failed,
            c.counts.skipped,
            c.counts.unknown,
          )}
        </p>
      </Section>
      <Causes tenant={tenant} campaign={c} />
      <Messages tenant={tenant} id={id} />
    </>
  )
}

/** Funnel is how many messages came at least so far: of what was sent, delivered; of that, read. */
function Funnel({ counts }: { counts: Schemas['CampaignCounts'] }) {
  const { say, language } = useSay()
  const t = say.outreach
  const [, change] = useFilters()
  return (
    <table className="steps">
      <tbody>
        {funnel(counts).map((f) => (
          <tr key={f.name}>
            <th scope="row">{t.steps[f.name]}</th>
            <td className="r">
              <b className={f.bad && f.n > 0 ? 'verm' : ''}>{count(f.n, language)}</b>
            </td>
            <td className="bars">
              <i className={f.bad ? 'bad' : ''} style={{ width: `${100 * f.share}%` }} />
            </td>
            <td className="r mu">{f.n > 0 || f.name === 'total' ? `${Math.round(100 * f.share)} %` : ''}</td>
            <td className="r">
              {f.state && f.of > 0 && (
                <button className="btn q" onClick={() => change({ state: f.state!, class: '', code: '' })}>
                  {t.theseNow(f.of, count(f.of, language))}
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Causes are why messages failed or were never sent, in words; each figure filters the messages below. */
function Causes({ tenant, campaign: c }: { tenant: string; campaign: Schemas['CampaignDetail'] }) {
  const { say, language } = useSay()
  const t = say.outreach
  const errors = useCampaignErrors(tenant, c.id, c.counts.failed + c.counts.skipped)
  const items = errors.data?.items ?? []
  if (items.length === 0) return <Trouble error={errors.error} />
  return (
    <Section title={t.causesTitle} wide>
      <table className="causes">
        <tbody>
          {items.map((e) => (
            <tr key={e.state + e.class + e.code}>
              <td>
                <Glyph state={e.state === 'failed' ? 'failed' : 'idle'} />
                {t.messageStates[e.state]}
              </td>
              <td className="wrap">
                {named(t.causes, e.class)} {t.hints[e.class] && <span className="mu">{t.hints[e.class]}</span>}
              </td>
              <td className="m">{e.code > 0 && `Meta ${e.code}`}</td>
              <td className="cut gap mu">{e.error}</td>
              <td className="r">
                <ToPage
                  to="/messages"
                  search={{ tenant, campaign: c.id, state: e.state, class: e.class, code: String(e.code) }}
                >
                  {count(e.messages, language)}
                </ToPage>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  )
}

function Messages({ tenant, id }: { tenant: string; id: string }) {
  const { say } = useSay()
  const [filters] = useFilters()
  const { tenant: _, ...which } = filters
  const messages = useMessages(tenant, id, which)
  const fields = messageFields(say.outreach)
  return (
    <Section title={say.nav.messages}>
      <FilterBar fields={fields} also={notFilters} />
      <List tenant={tenant} messages={messages} fields={fields} />
    </Section>
  )
}
