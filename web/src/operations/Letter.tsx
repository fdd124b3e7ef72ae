import { useParams } from '@tanstack/react-router'
import { useState } from 'react'

import { discardLetter, replayLetter, useDo, useLetter } from '../api/queries'
import { bytes, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age, At } from '../ui/Age'
import { Confirm } from '../ui/Ask'
import { Glyph } from '../ui/Glyph'
import { Copy, Crumb, Head, InTemporal, Json, Section, Trouble } from '../ui/parts'
import { letterGlyph } from './Letters'
import { Do } from '../ui/Do'
import { Unread } from '../ui/Unread'

/** Letter is one dead letter: where and why it died, what it says, and what was done about it. */
export function Letter() {
  const { say, language } = useSay()
  const t = say.letter
  const { id } = useParams({ strict: false }) as { id: string }
  const letter = useLetter(Number(id))
  const replay = useDo(replayLetter, 'letter', 'letters', 'queues')
  const discard = useDo(discardLetter, 'letter', 'letters', 'queues')
  const [asking, setAsking] = useState<'discard' | 'replay'>()
  const l = letter.data
  if (!l) return <Unread of={letter} title={id} crumbs={<Crumb to="/dead-letters">{t.title}</Crumb>} />
  return (
    <>
      <Head
        crumbs={<Crumb to="/dead-letters">{t.title}</Crumb>}
        title={<bdi lang="en">{l.reason}</bdi>}
        actions={
          <>
            {l.state === 'open' ? (
              <>
                <Do className="btn p" disabled={replay.isPending} onClick={() => replay.mutate({ id: l.id })}>
                  {t.replay}
                </Do>
                <Do disabled={discard.isPending} onClick={() => setAsking('discard')}>
                  {t.discard}
                </Do>
              </>
            ) : (
              <Do disabled={replay.isPending} onClick={() => setAsking('replay')}>
                {t.replayForce} …
              </Do>
            )}
            <InTemporal workflow={l.workflow} button />
          </>
        }
      >
        <p>
          <Glyph state={letterGlyph[l.state]!} />
          {t.states[l.state]} · <b>{l.queue}</b> · <span className="tag">{named(say.code.fault, l.class)}</span> ·{' '}
          <Age at={l.last_at} />
        </p>
      </Head>
      <Trouble error={replay.error ?? discard.error} />
      <div className="two half">
        <Section title={t.facts}>
          <dl className="kv">
            <dt>{t.first}</dt>
            <dd>
              <At at={l.first_at} />
            </dd>
            <dt>{t.deaths}</dt>
            <dd>{l.deaths}</dd>
            <dt>{t.exchange}</dt>
            <dd className="m">{l.exchange || '–'}</dd>
            <dt>{t.routingKey}</dt>
            <dd className="m">{l.routing_key || '–'}</dd>
            {l.message_id && (
              <>
                <dt>{t.messageId}</dt>
                <dd>
                  <Copy text={l.message_id} isID />
                </dd>
              </>
            )}
            {l.workflow_id && (
              <>
                <dt>{t.workflow}</dt>
                <dd>
                  <Copy text={l.workflow_id} />
                </dd>
              </>
            )}
            <dt>{t.replays}</dt>
            <dd>
              {l.replays} {l.replayed_at && <Age at={l.replayed_at} />}
              {l.replay && !l.replay.sent_at && <span className="ochr">: {l.replay.error ?? t.notSent}</span>}
            </dd>
            <dt>{t.size}</dt>
            <dd>{bytes(l.bytes, language)}</dd>
          </dl>
        </Section>
        <Section title={t.deeds}>
          {l.audit.length === 0 && <p className="empty">{say.none}</p>}
          {l.audit.map((d, i) => (
            <p key={i}>
              <At at={d.at} /> <b>{d.action}</b> {d.actor}{' '}
              {d.detail != null && JSON.stringify(d.detail) !== '{}' && (
                <span className="m mu">{JSON.stringify(d.detail)}</span>
              )}
            </p>
          ))}
        </Section>
      </div>
      <Section title={t.body} note={l.hidden > 0 ? t.hidden(l.hidden) : undefined}>
        <Json value={l.body ?? l.body_base64 ?? ''} />
      </Section>
      <Section title={t.headers}>
        <Json value={l.headers} />
      </Section>
      {asking === 'replay' && (
        <Confirm
          title={t.replayForce}
          onYes={() => replay.mutate({ id: l.id, force: true })}
          onClose={() => setAsking(undefined)}
        >
          <h2>{t.replayOne(t.states[l.state] ?? l.state)}</h2>
          <p>{t.replayNote}</p>
        </Confirm>
      )}
      {asking === 'discard' && (
        <Confirm title={t.discard} onYes={() => discard.mutate(l.id)} onClose={() => setAsking(undefined)}>
          <h2>{t.discardOne}</h2>
          <p>{t.discardNote}</p>
        </Confirm>
      )}
    </>
  )
}
