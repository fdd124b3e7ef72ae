import { useParams } from '@tanstack/react-router'

import type { Schemas } from '../api/client'
import { retryMessage, showRecipient, useDo, useMessage } from '../api/queries'
import { named } from '../say/format'
import { useSay } from '../say/Say'
import { Age, At } from '../ui/Age'
import { Do } from '../ui/Do'
import { Glyph, type State } from '../ui/Glyph'
import { Copy, Crumb, Head, Section, Trouble } from '../ui/parts'
import { useTenant } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import { messageGlyph } from './Messages'
import './outreach.css'

/** Message is one message: what it says, and each try and status as they came. */
export function Message() {
  const { say } = useSay()
  const t = say.outreach
  const { id } = useParams({ strict: false }) as { id: string }
  const tenant = useTenant()
  const message = useMessage(tenant, id)
  const again = useDo(retryMessage, 'message', 'messages', 'campaign')
  const number = useDo(showRecipient)
  const m = message.data
  if (!m)
    return (
      <Unread
        of={message}
        title={id}
        crumbs={
          <Crumb to="/messages" tenant={tenant}>
            {say.nav.messages}
          </Crumb>
        }
      />
    )
  return (
    <>
      <Head
        crumbs={
          m.campaign ? (
            <>
              <Crumb to="/campaigns" tenant={tenant}>
                {say.nav.campaigns}
              </Crumb>{' '}
              <ToPage to="/campaigns/$id" of={m.campaign} search={{ tenant }}>
                {t.campaign}
              </ToPage>{' '}
              <span aria-hidden="true">›</span>
            </>
          ) : (
            <Crumb to="/messages" tenant={tenant}>
              {say.nav.messages}
            </Crumb>
          )
        }
        title={<span className="m">{number.data?.to || m.to || m.id.slice(0, 8)}</span>}
        actions={
          <>
            {m.to && !number.data && (
              <Do title={t.showNumberNote} disabled={number.isPending} onClick={() => number.mutate({ tenant, id })}>
                {t.showNumber}
              </Do>
            )}
            {m.state === 'failed' && (
              <Do className="btn p" disabled={again.isPending} onClick={() => again.mutate({ tenant, id })}>
                {t.sendAgain}
              </Do>
            )}
          </>
        }
      >
        <p>
          <Glyph state={messageGlyph[m.state]} />
          {t.messageStates[m.state]}
          {m.class && (
            <>
              {' '}
              · {named(t.causes, m.class)}
              {!!m.code && ` (${m.code})`}
            </>
          )}{' '}
          · {t.kinds[m.kind]}
          {m.due_at && (
            <>
              {' '}
              · {t.due} <Age at={m.due_at} />
            </>
          )}
        </p>
        {m.error && <p className="verm">{m.error}</p>}
      </Head>
      <Trouble error={again.error ?? number.error} />
      <Section title={t.timeline}>
        <ol className="timeline">
          {m.timeline.map((e, i) => (
            <li key={i}>
              <Glyph state={stateOf(e)} />
              <At at={e.at} /> <b>{e.attempt ? t.attempt(e.attempt.n) : t.events[e.event]}</b>
              {e.attempt && <Attempt attempt={e.attempt} />}
            </li>
          ))}
        </ol>
      </Section>
      {m.body && (
        <Section title={t.says}>
          {m.body.text?.body && <p className="s says">{m.body.text.body}</p>}
          {m.body.template && (
            <p>
              {t.template} <span className="m">{m.body.template.name}</span> ({m.body.template.language.code})
            </p>
          )}
          <details>
            <summary className="mu">{t.request}</summary>
            <pre>{JSON.stringify(m.body, null, 2)}</pre>
          </details>
        </Section>
      )}
      <Section title={t.identity}>
        <dl className="kv">
          <dt>ID</dt>
          <dd>
            <Copy text={m.id} isID />
          </dd>
          <dt>{t.sender}</dt>
          <dd>
            <Copy text={m.sender} />
          </dd>
          {number.data?.wamid && (
            <>
              <dt>WAMID</dt>
              <dd>
                <Copy text={number.data.wamid} />
              </dd>
            </>
          )}
        </dl>
      </Section>
    </>
  )
}

function stateOf(e: Schemas['MessageEvent']): State {
  if (e.event === 'failed') return 'failed'
  if (e.event === 'queued') return 'idle'
  if (!e.attempt) return 'done'
  return e.attempt.class ? 'look' : 'done'
}

/** Attempt is what the API of Meta answered to a request. */
function Attempt({ attempt: a }: { attempt: Schemas['MessageAttempt'] }) {
  const { say } = useSay()
  const t = say.outreach
  return (
    <>
      {' '}
      <span className="mu">
        {t.took(a.took_ms)}
        {a.http_status ? ` · HTTP ${a.http_status}` : ` · ${t.noAnswer}`}
      </span>{' '}
      {a.class && (
        <span className="ochr">
          {named(t.causes, a.class)}
          {!!a.code && ` (${a.code})`}
        </span>
      )}{' '}
      {a.error && <span className="mu wrap">{a.error}</span>}
    </>
  )
}
