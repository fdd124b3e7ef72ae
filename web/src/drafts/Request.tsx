import { useParams } from '@tanstack/react-router'

import { cancelDraftRequest, replayLetter, useDo, useDraftRequest } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { Glyph } from '../ui/Glyph'
import { Copy, Crumb, Head, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { ToPage } from '../ui/ToPage'
import { Unread } from '../ui/Unread'
import { requestGlyph } from './Requests'

/** Request is one page that a draft was asked of: it waits, runs, or came to an end that this page leads to. */
export function Request() {
  const { say } = useSay()
  const t = say.draft
  const { id } = useParams({ strict: false }) as { id: string }
  const request = useDraftRequest(id)
  const cancel = useDo(cancelDraftRequest, 'draft-request', 'draft-requests')
  const replay = useDo(replayLetter, 'draft-request', 'draft-requests')
  const r = request.data
  if (!r) return <Unread of={request} title={id} crumbs={<Crumb to="/drafts/requests">{t.requests}</Crumb>} />
  return (
    <>
      <Head
        crumbs={<Crumb to="/drafts/requests">{t.requests}</Crumb>}
        title={<span className="m">{r.url ?? r.event_id}</span>}
        actions={
          <>
            {r.state === 'dead' && r.dead_letter && (
              <Do className="btn p" disabled={replay.isPending} onClick={() => replay.mutate({ id: r.dead_letter! })}>
                {t.replay}
              </Do>
            )}
            {(r.state === 'queued' || r.state === 'running') && (
              <Do disabled={cancel.isPending} onClick={() => cancel.mutate(id)}>
                {say.cancel}
              </Do>
            )}
            <InTemporal workflow={r.workflow} button />
          </>
        }
      >
        <p role="status">
          <Glyph state={requestGlyph[r.state]!} />
          {t.states[r.state]} · <Out href={r.url} />
          {r.requested_at && (
            <>
              {' '}
              · {t.requested} <Age at={r.requested_at} />
            </>
          )}
        </p>
        {r.error && (
          <p className="verm" lang="en">
            {r.error}
          </p>
        )}
        {r.warning && (
          <p className="ochr" lang="en">
            {r.warning}
          </p>
        )}
      </Head>
      <Trouble error={cancel.error ?? replay.error} />
      <Section title={say.outreach.identity}>
        <dl className="kv">
          <dt>event_id</dt>
          <dd>
            <Copy text={r.event_id} isID />
          </dd>
          {r.draft_id && (
            <>
              <dt>{t.title}</dt>
              <dd>
                <ToPage to="/drafts/$id" of={r.draft_id}>
                  {r.draft_id}
                </ToPage>
              </dd>
            </>
          )}
          {r.dead_letter && (
            <>
              <dt>{say.letter.title}</dt>
              <dd>
                <ToPage to="/dead-letters/$id" of={r.dead_letter}>
                  {r.dead_letter}
                </ToPage>
              </dd>
            </>
          )}
        </dl>
      </Section>
    </>
  )
}
