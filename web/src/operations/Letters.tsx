import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useLetterGroups, useLetters, useReport } from '../api/queries'
import { count, named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { letterFields, LettersBulk } from '../ui/LettersBulk'
import { Head, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { Do } from '../ui/Do'
import { ToPage } from '../ui/ToPage'

export const letterGlyph: Record<string, State> = {
  open: 'failed',
  replayed: 'changed',
  resolved: 'done',
  discarded: 'idle',
}

/** Letters is the list of dead letters. */
export function Letters() {
  const { say } = useSay()
  const t = say.letter
  const [filters] = useFilters()
  const letters = useLetters({ state: 'open', ...filters })
  const [bulk, setBulk] = useState<{
    what: 'replay' | 'discard'
    chosen?: Schemas['LetterItem'][]
    onDone?: () => void
  }>()
  const fields = letterFields(say, useReport().data?.dead_letters)
  return (
    <>
      <Head
        title={t.title}
        actions={
          <>
            <Do onClick={() => setBulk({ what: 'replay' })}>{t.replayAll}</Do>
            <Do onClick={() => setBulk({ what: 'discard' })}>{t.discardAll}</Do>
          </>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <Groups />
      <FilterBar fields={fields} />
      <Rows
        label={t.title}
        pages={letters}
        id={(l) => String(l.id)}
        empty={<Nothing fields={fields} never={t.never} />}
        choose={{
          name: (l) => `${l.queue}: ${l.reason}`,
          actions: (chosen, onDone) =>
            (['replay', 'discard'] as const).map((what) => (
              <Do key={what} onClick={() => setBulk({ what, chosen: chosen === 'all' ? undefined : chosen, onDone })}>
                {t[what]} …
              </Do>
            )),
        }}
        columns={[
          {
            name: 'queue',
            head: t.queue,
            cell: (l) => (
              <>
                <Glyph state={letterGlyph[l.state]!} />
                <ToPage to="/dead-letters/$id" of={l.id}>
                  {l.queue}
                </ToPage>
              </>
            ),
          },
          { name: 'reason', head: t.reason, className: 'cut', cell: (l) => <span title={l.reason}>{l.reason}</span> },
          { name: 'class', head: t.class, cell: (l) => <span className="tag">{named(say.code.fault, l.class)}</span> },
          { name: 'state', head: t.state, cell: (l) => t.states[l.state] },
          { name: 'deaths', head: t.deaths, className: 'r', cell: (l) => l.deaths },
          { name: 'last', head: t.last, className: 'r', cell: (l) => <Age at={l.last_at} /> },
        ]}
      />
      {bulk && <LettersBulk {...bulk} filters={filters} onClose={() => setBulk(undefined)} />}
    </>
  )
}

const few = 8 // groups, before all are asked for

/** Groups are the reasons that letters died of, the most frequent first: a click shows those letters. */
function Groups() {
  const { say, language } = useSay()
  const t = say.letter
  const [filters, change] = useFilters()
  const known = Object.entries(filters).filter(([name]) => ['queue', 'class', 'platform'].includes(name))
  const groups = useLetterGroups({ ...Object.fromEntries(known), state: 'open' })
  const rows = groups.data?.items ?? []
  const [all, setAll] = useState(false)
  if (rows.length < 1) return <Trouble error={groups.error} />
  return (
    <Section title={t.groups} note={rows.length} wide>
      <table>
        <tbody>
          {(all ? rows : rows.slice(0, few)).map((g) => (
            <tr key={g.queue + g.class + g.reason}>
              <td className="r" style={{ width: 60, paddingRight: 12 }}>
                <b>{count(g.letters, language)}</b>
              </td>
              <td>{g.queue}</td>
              <td>
                <span className="tag">{named(say.code.fault, g.class)}</span>
              </td>
              <td className="wrap">
                <button
                  className="copy"
                  data-row=""
                  onClick={() => change({ queue: g.queue, class: g.class, reason: g.reason_contains })}
                >
                  {g.reason}
                </button>
              </td>
              <td className="r">
                <Age at={g.last_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {!all && rows.length > few && (
        <p className="more mu">
          <button className="btn" onClick={() => setAll(true)}>
            {say.allOf(count(rows.length, language))}
          </button>
        </p>
      )}
    </Section>
  )
}
