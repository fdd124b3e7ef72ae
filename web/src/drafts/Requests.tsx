import { cancelDraftRequest, replayLetter, useDo, useDraftRequests } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { startOf } from '../ui/filters'
import { Glyph, type State } from '../ui/Glyph'
import { Head, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import { AskForDraft } from './AskForDraft'
import './drafts.css'

export const requestGlyph: Record<string, State> = {
  pending: 'changed',
  queued: 'idle',
  running: 'changed',
  succeeded: 'done',
  failed: 'failed',
  dead: 'failed',
  canceled: 'idle',
}

/** Requests are the pages that drafts were asked of, and the form that asks for one. */
export function Requests() {
  const { say, zone } = useSay()
  const t = say.draft
  const [filters] = useFilters()
  const requests = useDraftRequests({ ...filters, since: startOf(filters.since, zone) })
  const cancel = useDo(cancelDraftRequest, 'draft-requests')
  const replay = useDo(replayLetter, 'draft-requests', 'letters', 'letter')
  const fields: Field[] = [
    {
      name: 'state',
      label: t.state,
      several: true,
      options: ['pending', 'succeeded', 'failed', 'dead', 'canceled'].map((value) => ({
        value,
        label: t.states[value]!,
      })),
    },
    { name: 'since', label: t.since, kind: 'date' },
  ]
  return (
    <>
      <Head title={t.requests}>
        <p>{t.requestsIntro}</p>
      </Head>
      <AskForDraft />
      <Trouble error={cancel.error ?? replay.error} />
      <FilterBar fields={fields} />
      <Rows
        label={t.requests}
        className="named"
        pages={requests}
        id={(r) => r.event_id}
        empty={<Nothing fields={fields} never={t.noRequests} />}
        columns={[
          {
            name: 'url',
            head: t.url,
            className: 'cut',
            cell: (r) => (
              <>
                <Glyph state={requestGlyph[r.state]!} />
                {r.draft_id ? (
                  <ToPage className="m" to="/drafts/$id" of={r.draft_id}>
                    {r.url}
                  </ToPage>
                ) : (
                  <ToPage className="m" to="/drafts/requests/$id" of={r.event_id}>
                    {r.url}
                  </ToPage>
                )}
              </>
            ),
          },
          { name: 'state', head: t.state, cell: (r) => t.states[r.state] },
          {
            name: 'error',
            head: t.error,
            className: 'cut',
            cell: (r) =>
              r.dead_letter ? (
                <ToPage className="verm" to="/dead-letters/$id" of={r.dead_letter}>
                  {r.error}
                </ToPage>
              ) : (
                <span className="verm">{r.error}</span>
              ),
          },
          { name: 'requested', head: t.requested, className: 'r', cell: (r) => <Age at={r.requested_at} /> },
          {
            name: 'cancel',
            head: <span className="aside">{say.cancel}</span>,
            className: 'r',
            cell: (r) =>
              r.state === 'dead' && r.dead_letter ? (
                <Do disabled={replay.isPending} onClick={() => replay.mutate({ id: r.dead_letter! })}>
                  {t.replay}
                </Do>
              ) : (
                r.state === 'pending' && (
                  <Do disabled={cancel.isPending} onClick={() => cancel.mutate(r.event_id)}>
                    {say.cancel}
                  </Do>
                )
              ),
          },
        ]}
      />
    </>
  )
}
