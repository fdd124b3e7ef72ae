import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useRef, useState, type ReactNode } from 'react'

import { Problem } from '../api/problem'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { useFilters } from './Filter'
import { usePlace, useReading } from './keep'
import { useShortcuts } from './keys'
import './lists.css'
import { Empty, Trouble } from './parts'
import { useReadOn } from './readOn'
import { againOf, Reading, whyNot } from './Unread'

export interface Column<T> {
  name: string
  head: ReactNode
  cell: (row: T) => ReactNode
  className?: string
}

interface Page<T> {
  items: T[]
  next_cursor?: string
}

/** Pages are the pages of a keyset that were read so far. */
export type Pages<T> = UseInfiniteQueryResult<InfiniteData<Page<T>, unknown>, Error>

/** Choosing is what can be done with rows that were chosen: some of those that were read, or all that match. */
interface Choosing<T> {
  name: (row: T) => string // of a row, for its box
  actions: (chosen: T[] | 'all', done: () => void) => ReactNode // done: nothing is chosen any more
}

const rowHeight = 27
const top = 46 // px: the line at the top of the page, under which rows vanish

/**
 * Rows is a table of a keyset: pages are read as the end comes near, and only rows near the window are in the
 * document. A row opens by its link; j, k and Enter walk along the links. While somebody reads, or space holds the
 * list, what is new waits above it.
 */
export function Rows<T>(p: {
  pages: Pages<T>
  columns: Column<T>[]
  id: (row: T) => string
  empty: ReactNode
  label: string
  className?: string
  choose?: Choosing<T>
}) {
  const { say, language } = useSay()
  const table = useRef<HTMLTableElement>(null)
  const [filters] = useFilters()
  const of = p.label + JSON.stringify(filters)
  const [held, hold] = useState(false)
  const reading = useReading(table, top)
  const read = p.pages.data?.pages.flatMap((one) => one.items) ?? []
  const place = usePlace(read, p.id, (held || reading) && !p.pages.isPlaceholderData, of)
  const rows = place.rows
  const chosen = useChosen(rows, p.id, of, !!p.choose)
  useShortcuts([{ keys: ' ', what: say.key.hold, when: () => rows.length > 0, act: () => hold(!held) }])
  const window = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 20,
    scrollMargin: table.current?.offsetTop ?? 0,
  })
  const shown = window.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  const { hasNextPage, isFetchingNextPage } = p.pages
  useReadOn(p.pages, last >= rows.length - 50)

  if (rows.length === 0) return <NoRows pages={p.pages} empty={p.empty} />
  const before = shown.length > 0 ? shown[0]!.start - window.options.scrollMargin : 0
  const after = shown.length > 0 ? window.getTotalSize() - (shown.at(-1)!.end - window.options.scrollMargin) : 0
  const some = chosen.all ? 'all' : chosen.rows
  return (
    <>
      <Trouble error={p.pages.error} again={() => void p.pages.refetch()} />
      {(place.waiting > 0 || held || some.length > 0) && (
        <div className="over">
          {place.waiting > 0 && (
            <button
              className="btn"
              onClick={() => {
                place.show()
                table.current?.closest('.scroll')?.scrollIntoView()
              }}
            >
              {say.newRows(place.waiting, count(place.waiting, language))}
            </button>
          )}
          {held && (
            <button className="btn" onClick={() => hold(false)}>
              {say.today.held} <kbd>{say.space}</kbd>
            </button>
          )}
          {p.choose && some.length > 0 && (
            <span className="btns" data-actions="">
              <b role="status">
                {some === 'all' ? say.chosenAll : say.chosen(some.length, count(some.length, language))}
              </b>
              {p.choose.actions(some, chosen.clear)}
              {some !== 'all' && (
                <button className="btn q" onClick={chosen.chooseAll}>
                  {say.chooseAll} <kbd>*</kbd>
                </button>
              )}
              <button className="btn q" onClick={chosen.clear}>
                {say.chooseNone}
              </button>
            </span>
          )}
        </div>
      )}
      <div className="scroll" role="region" aria-label={p.label} tabIndex={0}>
        <table ref={table} className={p.className} aria-rowcount={hasNextPage ? -1 : rows.length + 1}>
          <thead>
            <tr>
              {p.choose && (
                <th className="box" scope="col">
                  <span className="aside">{say.key.choose}</span>
                </th>
              )}
              {p.columns.map((c) => (
                <th key={c.name} className={c.className} scope="col">
                  {c.head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className={p.pages.isPlaceholderData ? 'dim' : undefined}>
            {before > 0 && <Gap height={before} />}
            {shown.map((v) => {
              const row = rows[v.index]!
              const id = p.id(row)
              return (
                <tr key={id} ref={window.measureElement} data-index={v.index} aria-rowindex={v.index + 2}>
                  {p.choose && (
                    <td className="box">
                      <input
                        type="checkbox"
                        aria-label={p.choose.name(row)}
                        checked={chosen.all || chosen.has(id)}
                        onChange={() => chosen.toggle(v.index)}
                      />
                    </td>
                  )}
                  {p.columns.map((c) => (
                    <td key={c.name} className={c.className}>
                      {c.cell(row)}
                    </td>
                  ))}
                </tr>
              )
            })}
            {after > 0 && <Gap height={after} />}
          </tbody>
        </table>
        <p className="more mu" aria-live="polite">
          {isFetchingNextPage
            ? say.readingMore
            : hasNextPage
              ? say.rowsSoFar(count(rows.length, language))
              : say.rows(rows.length, count(rows.length, language))}
        </p>
      </div>
    </>
  )
}

/**
 * NoRows stands for the rows of a list that has none, or none yet. An empty page that leads to others is not the end. Filters
 * that the list does not know are named by its FilterBar, which can remove them.
 */
export function NoRows<T>({ pages, empty }: { pages: Pages<T>; empty: ReactNode }) {
  const { say } = useSay()
  const why = whyNot(pages)
  if (why && Problem.of(why).isUnknownFilter()) return null
  if (why) return <Trouble error={why} again={againOf(pages)} />
  if (pages.isPending) return <Reading />
  return pages.hasNextPage ? <Empty>{say.readingMore}</Empty> : empty
}

/** focused is the place of the row with the focus in its list; -1 = none. */
const focused = () => Number(document.activeElement?.closest<HTMLElement>('tr[data-index]')?.dataset.index ?? -1)

/** toggled is what is chosen after one of rows is, or is no longer: of all that match, the others that were read stay. */
export function toggled(was: { ids: Set<string>; all: boolean }, one: string, rows: string[]) {
  const ids = new Set(was.all ? rows : was.ids)
  if (!ids.delete(one)) ids.add(one)
  return ids
}

/** useChosen keeps which rows are chosen, by hand and by x, ⇧x and *. With another list, none are. */
function useChosen<T>(rows: T[], id: (row: T) => string, of: string, on: boolean) {
  const { say } = useSay()
  const none = { of, ids: new Set<string>(), all: false, from: -1 }
  const [state, setState] = useState(none)
  const now = state.of === of ? state : none
  const toggle = (at: number) => {
    const row = rows[at]
    if (row === undefined) return
    setState({ of, ids: toggled(now, id(row), rows.map(id)), all: false, from: at })
  }
  const range = (at: number) => {
    if (at < 0) return
    const from = now.from < 0 ? at : now.from
    const ids = new Set(now.ids)
    for (const row of rows.slice(Math.min(from, at), Math.max(from, at) + 1)) ids.add(id(row))
    setState({ of, ids, all: false, from: at })
  }
  const chooseAll = () => setState({ ...now, all: true })
  const here = () => on && focused() >= 0
  const some = now.all || now.ids.size > 0
  useShortcuts(
    on
      ? [
          { keys: 'x', what: say.key.choose, when: here, act: () => toggle(focused()) },
          { keys: 'shift+x', what: say.key.chooseTo, when: here, act: () => range(focused()) },
          { keys: '*', what: say.key.chooseAll, when: () => rows.length > 0, act: chooseAll },
          {
            keys: 'a',
            what: say.key.actions,
            when: () => some,
            act: () => document.querySelector<HTMLElement>('[data-actions] .btn')?.focus(),
          },
        ]
      : [],
  )
  return {
    all: now.all,
    rows: rows.filter((r) => now.ids.has(id(r))),
    has: (one: string) => now.ids.has(one),
    toggle,
    chooseAll,
    clear: () => setState(none),
  }
}

function Gap({ height }: { height: number }) {
  return (
    <tr aria-hidden="true">
      <td style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}
