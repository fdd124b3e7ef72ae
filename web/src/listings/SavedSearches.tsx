import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import {
  challengeTarget,
  changeSavedSearch,
  deleteSavedSearch,
  deleteTarget,
  trySavedSearch,
  useDeliveries,
  useDo,
  useSavedSearch,
  useSavedSearches,
  useSearchMatches,
  useSession,
} from '../api/queries'
import { count, money, named } from '../say/format'
import { useSay, type Sentences } from '../say/Say'
import { Age } from '../ui/Age'
import { Confirm } from '../ui/Ask'
import { Do } from '../ui/Do'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Empty, Head, InTemporal, Out, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'

type Search = Schemas['SavedSearch']

const notFilters = ['tenant', 'search'] // in the address

/** SavedSearches are the saved filters of a tenant: the targets of each, what it found, and what was delivered. */
export function SavedSearches() {
  const { say } = useSay()
  const t = say.saved
  const [filters, change] = useFilters()
  const tenant = useTenant()
  const ofOne = useOfOne()
  const searches = useSavedSearches(tenant, ofOne)
  const set = useDo(changeSavedSearch, 'saved-searches')
  const listed = searches.data?.pages.flatMap((p) => p.items).find((s) => s.id === filters.search)
  const behind = !!filters.search && !listed && searches.hasNextPage // on a page that is not read yet
  const one = useSavedSearch(tenant, filters.search ?? '', behind)
  const chosen = listed ?? (behind ? one.data : undefined)
  return (
    <>
      <Head
        title={t.title}
        actions={
          <>
            <ToPage className="btn" to="/listings" search={{ tenant: tenant || undefined }}>
              {t.chooseFilters}
            </ToPage>
            <Tenants its={['search', 'state']} />
          </>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <Trouble error={set.error ?? (behind ? one.error : undefined)} />
      {!ofOne ? (
        <Whose choose={t.whose} />
      ) : (
        <Rows
          label={t.title}
          pages={searches}
          id={(s) => s.id}
          empty={<Empty>{t.never}</Empty>}
          columns={[
            {
              name: 'name',
              head: t.name,
              cell: (s) => (
                <>
                  <Glyph state={s.state === 'active' ? 'done' : 'idle'} />
                  <ToPage
                    id={s.id}
                    to="/searches"
                    search={{ ...filters, tenant: tenant || undefined, search: s.id }}
                    resetScroll={false}
                  >
                    <b>{s.name}</b>
                  </ToPage>
                </>
              ),
            },
            {
              name: 'filter',
              head: t.filter,
              className: 'wrap',
              cell: (s) => <span className="m2">{inWords(s.filter, say) || t.everything}</span>,
            },
            { name: 'kinds', head: t.kinds, cell: (s) => s.kinds.map((k) => t.kind[k]).join(', ') },
            {
              name: 'targets',
              head: t.targets,
              cell: (s) => s.targets.map((to) => nameOf(to, say)).join(', ') || say.none,
            },
            { name: 'updated', head: say.listing.updated, className: 'r', cell: (s) => <Age at={s.updated_at} /> },
            {
              name: 'pause',
              head: <span className="aside">{say.pause}</span>,
              className: 'r',
              cell: (s) => (
                <Do
                  disabled={set.isPending}
                  onClick={() =>
                    set.mutate({ tenant, id: s.id, patch: { state: s.state === 'active' ? 'paused' : 'active' } })
                  }
                >
                  {s.state === 'active' ? say.pause : say.resume}
                </Do>
              ),
            },
          ]}
        />
      )}
      {chosen && (
        <One
          key={chosen.id}
          tenant={tenant}
          search={chosen}
          onClose={(gone) => {
            change({ search: '', state: '' })
            // What has the focus is closed: it goes back to the link, or where there will be none to the page.
            const back = document.getElementById(gone ? 'main' : chosen.id) ?? document.getElementById('main')
            back?.focus()
          }}
        />
      )}
    </>
  )
}

/** nameOf is a target in words, with its state where that keeps notifications from it. */
function nameOf(target: Schemas['SearchTarget'], say: Sentences) {
  const more = [target.label, target.state !== 'active' && say.saved.targetState[target.state]].filter(Boolean)
  return say.saved.targetKind[target.kind] + (more.length > 0 ? ` (${more.join(', ')})` : '')
}

/** inWords is what a filter asks for, name by name. Places are long: of a polygon only its corners are counted. */
export const inWords = (f: Schemas['Criteria'], say: Sentences) =>
  Object.entries(f)
    .filter(([, v]) => v !== undefined && v !== null && String(v) !== '')
    .map(([k, v]) => `${named(say.code.criterion, k)} = ${worded(k, v)}`)
    .join('; ')

function worded(name: string, value: unknown) {
  if (name === 'polygon') return (value as unknown[]).length
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object') return String(value)
  const near = value as Schemas['Near']
  return `${near.latitude}, ${near.longitude}, ${near.metres} m`
}

const glyph: Record<Schemas['SearchDelivery']['state'], State> = {
  waiting: 'idle',
  started: 'changed',
  sent: 'done',
  failed: 'look',
  dropped: 'failed',
}

const shown = () => undefined // an error is that of the mutation, which Trouble shows

/** One is a saved search: its targets, what it would have found in the last week, what it found, and its deliveries. */
function One({ tenant, search: s, onClose }: { tenant: string; search: Search; onClose: (gone: boolean) => void }) {
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
