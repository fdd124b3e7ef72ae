import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import {
  challengeTarget,
  deleteSavedSearch,
  deleteTarget,
  trySavedSearch,
  useDeliveries,
  useDo,
  useSearchMatches,
  useSession,
} from '../api/queries'
import { count, money, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Confirm } from '../ui/Ask'
import { Do } from '../ui/Do'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Empty, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'
import { canRotate, RotateTarget } from './RotateTarget'
import { nameOf } from './savedWords'

type Search = Schemas['SavedSearch']

const notFilters = ['tenant', 'search'] // in the address

const glyph: Record<Schemas['SearchDelivery']['state'], State> = {
  waiting: 'idle',
  started: 'changed',
  sent: 'done',
  failed: 'look',
  dropped: 'failed',
}

const shown = () => undefined // an error is that of the mutation, which Trouble shows

/** SavedSearch is one of them: its targets, what it would have found in the last week, what it found, and its deliveries. */
export function SavedSearch({
  tenant,
  search: s,
  onClose,
}: {
  tenant: string
  search: Search
  onClose: (gone: boolean) => void
}) {
  const { say, language } = useSay()
  const t = say.saved
  const [filters] = useFilters()
  const deliveries = useDeliveries(tenant, s.id, filters.state)
  const fields = [anyOf('state', say.replay.state, t.states)]
  const trial = useDo(trySavedSearch)
  const matches = useSearchMatches(tenant, s.id)
  const own = useSession().data?.caller?.tenant // whose key is refused listings
  const remove = useDo(deleteSavedSearch, 'saved-searches')
  const removeTarget = useDo(deleteTarget, 'saved-searches', 'deliveries')
  const challenge = useDo(challengeTarget, 'saved-searches', 'deliveries')
  const [asked, ask] = useState<Schemas['SearchTarget'] | 'search'>()
  const [rotating, rotate] = useState<Schemas['SearchTarget']>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // Chosen by its link, and not by the address of the page: what was chosen is below the table.
    if (document.activeElement?.id === s.id) heading.current?.focus()
  }, [s.id])
  return (
    <>
      {asked === 'search' && (
        <Confirm
          title={t.remove}
          onYes={() => {
            // Of a promise, as the list may be read again before the answer, and s be no more in it.
            if (!remove.isPending) remove.mutateAsync({ tenant, id: s.id }).then(() => onClose(true), shown)
          }}
          onClose={() => ask(undefined)}
        >
          <p>{t.removeAsk(s.name)}</p>
        </Confirm>
      )}
      {asked && asked !== 'search' && (
        <Confirm
          title={t.removeTarget}
          onYes={() => {
            if (!removeTarget.isPending)
              removeTarget.mutate(
                { tenant, id: s.id, target: asked.id },
                { onSuccess: () => heading.current?.focus() }, // the button goes with its target
              )
          }}
          onClose={() => ask(undefined)}
        >
          <p>
            <b>{nameOf(asked, say)}</b>
          </p>
          <p>{t.removeTargetAsk}</p>
        </Confirm>
      )}
      {rotating && (
        <RotateTarget tenant={tenant} search={s.id} target={rotating} onClose={() => rotate(undefined)} />
      )}
      <Section
        title={s.name}
        heading={heading}
        go={
          <>
            <Do className="btn q" onClick={() => ask('search')}>
              {t.remove} …
            </Do>{' '}
            <button className="btn q" onClick={() => onClose(false)}>
              {say.close}
            </button>
          </>
        }
      >
        <Trouble error={trial.error ?? remove.error ?? removeTarget.error ?? challenge.error} />
        <ul className="todo">
          {s.targets.map((to) => (
            <li key={to.id}>
              <Glyph state={to.state === 'active' ? 'done' : 'look'} />
              <p>
                <b>{nameOf(to, say)}</b>
                {to.reason && <>: {to.reason}</>}
                <span role="status">
                  {challenge.data?.id === to.id && ` · ${to.state === 'active' ? t.confirmed : t.askedAgain}`}
                </span>
              </p>
              <span className="btns">
                {to.kind === 'webhook' && to.state !== 'active' && (
                  <Do
                    disabled={challenge.isPending}
                    onClick={() => challenge.mutate({ tenant, id: s.id, target: to.id })}
                  >
                    {t.challenge}
                  </Do>
                )}
                {canRotate(to) && (
                  <Do onClick={() => rotate(to)}>{to.kind === 'webhook' ? t.newSecret : t.newAddress} …</Do>
                )}
                <Do onClick={() => ask(to)}>{t.removeTarget} …</Do>
              </span>
            </li>
          ))}
        </ul>
        <p>
          <button className="btn" disabled={trial.isPending} onClick={() => trial.mutate({ tenant, filter: s.filter })}>
            {t.try}
          </button>{' '}
          <span role="status">
            {trial.data && t.wouldFind(trial.data.homes, count(trial.data.homes, language), trial.data.all)}
          </span>
        </p>
      </Section>
      <Section title={t.found}>
        <Rows
          label={t.found}
          pages={matches}
          id={(m) => String(m.event)}
          empty={<Empty>{t.nothingFound}</Empty>}
          columns={[
            { name: 'kind', head: t.kinds, cell: (m) => t.kind[m.kind] },
            {
              name: 'title',
              head: say.listing.advert,
              className: 'cut',
              cell: (m) => (
                <>
                  {own ? (
                    <Out href={m.url}>{m.title}</Out>
                  ) : (
                    <ToPage className="s" to="/listings/$id" of={m.listing_id}>
                      {m.title}
                    </ToPage>
                  )}
                  {!m.offered && <span className="mu"> {t.gone}</span>}
                </>
              ),
            },
            {
              name: 'rent',
              head: say.listing.rent,
              className: 'r',
              cell: (m) => (
                <>
                  {m.old_rent_cents !== undefined && <s className="mu">{money(m.old_rent_cents)}</s>}{' '}
                  <b>{money(m.rent_cents)}</b>
                </>
              ),
            },
            { name: 'at', head: t.due, className: 'r', cell: (m) => <Age at={m.at} /> },
          ]}
        />
      </Section>
      <Section title={t.deliveries}>
        <FilterBar fields={fields} also={notFilters} />
        <Rows
          label={t.deliveries}
          pages={deliveries}
          id={(d) => d.id}
          empty={<Nothing fields={fields} never={t.noDelivery} />}
          columns={[
            {
              name: 'state',
              head: say.replay.state,
              cell: (d) => (
                <>
                  <Glyph state={glyph[d.state]} />
                  {t.states[d.state]}
                </>
              ),
            },
            {
              name: 'target',
              head: t.target,
              cell: (d) => named(t.targetKind, d.target.kind) + (d.target.label ? ` (${d.target.label})` : ''),
            },
            { name: 'items', head: t.items, className: 'r', cell: (d) => count(d.items, language) },
            { name: 'tries', head: t.tries, className: 'r', cell: (d) => count(d.tries, language) },
            { name: 'due', head: t.due, className: 'r', cell: (d) => <Age at={d.finished_at ?? d.due_at} /> },
            { name: 'reason', head: t.reason, className: 'wrap gap', cell: (d) => d.reason ?? '' },
            {
              name: 'steps',
              head: <span className="aside">{say.inTemporal}</span>,
              cell: (d) => <InTemporal workflow={d.workflow} />,
            },
          ]}
        />
      </Section>
    </>
  )
}
