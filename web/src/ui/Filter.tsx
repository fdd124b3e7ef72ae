import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useId, useState } from 'react'

import type { Filters } from '../api/queries'
import { useSay } from '../say/Say'
import { dayOf, each, toggle } from './filters'
import { Options } from './parts'
import { useTyped } from './typed'
import { Views } from './Views'

/** useFilters returns the filters of the page: they are its address, so they can be shared and survive a reload. */
export function useFilters(): [Filters, (change: Filters) => void] {
  const search = useSearch({ strict: false }) as Record<string, unknown>
  const navigate = useNavigate()
  const filters: Filters = {}
  for (const [name, value] of Object.entries(search)) if (name !== 'theme') filters[name] = String(value)
  const change = (c: Filters) =>
    void navigate({
      search: ((was: Record<string, unknown>) =>
        Object.fromEntries(Object.entries({ ...was, ...c }).filter(([, v]) => v !== ''))) as never,
      replace: true,
    })
  return [filters, change]
}

export interface Field {
  name: string
  label: string
  options?: { value: string; label: string }[] // one of these; absent = free text
  // many: any of the options; pick: one of so many options that it is typed; set: shown only where it is set, to remove it
  kind?: 'text' | 'number' | 'date' | 'many' | 'pick' | 'set'
  several?: boolean // any of several values, one after the other: of the options, or of free text
  usual?: string // of the options: what no choice means, where that is not "any"
  more?: boolean // shown on demand
  readOn?: () => void // reads further options, where there are any
}

/** anyOf is a filter by any of the values that have a name. */
export const anyOf = (name: string, label: string, names: Record<string, string>, usual?: string): Field => ({
  name,
  label,
  several: true,
  usual,
  options: Object.entries(names).map(([value, label]) => ({ value, label })),
})

const noNames: string[] = []

/**
 * FilterBar shows what a list can be filtered by. A filter that the list does not know is an error, not ignored. also are
 * names in the address that are no filters.
 */
export function FilterBar({ fields, also = noNames }: { fields: Field[]; also?: string[] }) {
  const { say } = useSay()
  const [all, change] = useFilters()
  const filters = Object.fromEntries(Object.entries(all).filter(([name]) => !also.includes(name)))
  const unknown = Object.keys(filters).filter((name) => !fields.some((f) => f.name === name))
  const [more, setMore] = useState(false)
  const hidden = fields.filter((f) => f.more && !filters[f.name])
  return (
    <>
      {unknown.length > 0 && (
        <div className="problem" role="alert">
          {say.unknownFilter(unknown.join(', '))}{' '}
          <button className="btn" onClick={() => change(Object.fromEntries(unknown.map((name) => [name, ''])))}>
            {say.removeIt}
          </button>
        </div>
      )}
      <form className="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        {fields
          .filter((f) => (f.kind === 'set' ? filters[f.name] : more || !hidden.includes(f)))
          .map((f) => (
            <One key={f.name} field={f} value={filters[f.name] ?? ''} onChange={(v) => change({ [f.name]: v })} />
          ))}
        {hidden.length > 0 && (
          <button type="button" className="btn q" aria-expanded={more} onClick={() => setMore(!more)}>
            {more ? say.fewerFilters : say.moreFilters}
          </button>
        )}
        {Object.keys(filters).length > 0 && (
          <button
            type="button"
            className="btn q"
            onClick={() => change(Object.fromEntries(Object.keys(filters).map((name) => [name, ''])))}
          >
            {say.clear}
          </button>
        )}
      </form>
      <Views />
    </>
  )
}

/** One is a filter and its value. */
export function One({ field: f, value, onChange }: { field: Field; value: string; onChange: (v: string) => void }) {
  const { say, zone } = useSay()
  const options = f.options ?? []
  switch (f.kind) {
    case 'many':
      return (
        <fieldset>
          <legend>{f.label}</legend>
          <span className="seg">
            {options.map((o) => (
              <button
                key={o.value}
                type="button"
                aria-pressed={each(value).includes(o.value)}
                onClick={() =>
                  onChange(
                    toggle(
                      value,
                      o.value,
                      options.map((one) => one.value),
                    ),
                  )
                }
              >
                {o.label}
              </button>
            ))}
          </span>
        </fieldset>
      )
    case 'pick':
      return (
        <label>
          {f.label}
          <Pick options={options} value={value} onChange={onChange} />
        </label>
      )
    case 'set':
      return (
        <button type="button" className="btn" onClick={() => onChange('')}>
          {f.label} <span aria-label={say.removeIt}>×</span>
        </button>
      )
  }
  if (f.several) return <Several field={f} value={value} onChange={onChange} />
  const usual = options.find((o) => o.value === f.usual)
  const chosen = value === usual?.value ? '' : value
  const field = (
    <label>
      {f.label}
      {f.options ? (
        <select className="in" value={chosen} onChange={(e) => onChange(e.target.value)}>
          <option value="">{usual?.label ?? say.any}</option>
          {!options.some((o) => o.value === value) && value !== '' && <option value={value}>{value}</option>}
          <Options of={options.filter((o) => o !== usual).map((o) => [o.value, o.label])} />
        </select>
      ) : (
        // A field of a day shows the day of a time.
        <Words kind={f.kind ?? 'text'} value={f.kind === 'date' ? dayOf(value, zone) : value} onChange={onChange} />
      )}
    </label>
  )
  return (
    <>
      {field}
      <ReadOn label={f.label} onClick={f.readOn} />
    </>
  )
}

/** ReadOn reads further options of a choice; where there are none it is not shown. */
export function ReadOn({ label, onClick }: { label: string; onClick: (() => void) | undefined }) {
  const { say } = useSay()
  if (!onClick) return null
  return (
    <button type="button" className="btn q" aria-label={`${say.more}: ${label}`} onClick={onClick}>
      {say.more} …
    </button>
  )
}

/** Several are values of which any will do: one after the other, each to be changed or taken away, and a further one. */
function Several({ field: f, value, onChange }: { field: Field; value: string; onChange: (v: string) => void }) {
  const { say } = useSay()
  const chosen = each(value)
  const change = (i: number, v: string) =>
    onChange([...chosen.slice(0, i), v, ...chosen.slice(i + 1)].filter((one) => one !== '').join(','))
  const left = (f.options ?? []).filter((o) => !chosen.includes(o.value) && (o.value !== f.usual || chosen.length > 0))
  const none = f.options?.find((o) => o.value === f.usual)?.label ?? say.any
  if (!f.options)
    return [...chosen, ''].map((v, i) => (
      <label key={i}>
        {i === 0 ? f.label : say.or}
        <Words
          kind={f.kind ?? 'text'}
          name={i === 0 ? undefined : `${say.or} ${f.label}`}
          value={v}
          onChange={(to) => change(i, to)}
        />
      </label>
    ))
  return (
    <>
      {[...chosen, ...(left.length > 0 || chosen.length === 0 ? [''] : [])].map((v, i) => (
        // The key is the place: another value in it is the same choice, with the focus still on it.
        <label key={i}>
          {i === 0 ? f.label : say.or}
          <select
            className="in"
            value={v}
            aria-label={i === 0 ? undefined : `${say.or} ${f.label}`}
            onChange={(e) => change(i, e.target.value)}
          >
            <option value="">{v === '' && i > 0 ? '…' : none}</option>
            {v !== '' && <option value={v}>{shown(f, v)}</option>}
            <Options of={left.map((o) => [o.value, o.label])} />
          </select>
        </label>
      ))}
    </>
  )
}

/** Pick completes what is typed to one of many options; what is none of them is no filter. */
function Pick(p: { options: { value: string; label: string }[]; value: string; onChange: (v: string) => void }) {
  const id = useId()
  const label = p.options.find((o) => o.value === p.value)?.label ?? p.value
  const [text, setText] = useState(label)
  useEffect(() => setText(label), [label])
  const choose = (typed: string) => {
    setText(typed)
    const same = (s: string) => s.localeCompare(typed.trim(), undefined, { sensitivity: 'base' }) === 0
    const found = p.options.find((o) => same(o.label) || o.value === typed.trim())
    if (found && found.value !== p.value) p.onChange(found.value)
    if (typed === '' && p.value !== '') p.onChange('')
  }
  return (
    <>
      <input
        className="in"
        list={id}
        value={text}
        data-filter=""
        onChange={(e) => choose(e.target.value)}
        onBlur={() => setText(label)}
      />
      <datalist id={id}>
        {p.options.map((o) => (
          <option key={o.value} value={o.label} />
        ))}
      </datalist>
    </>
  )
}

/** Words waits until typing pauses. */
function Words(p: { kind: string; name?: string; value: string; onChange: (v: string) => void }) {
  const [text, setText] = useTyped(p.value, p.onChange, 250)
  const id = useId()
  return (
    <input
      id={id}
      className="in"
      type={p.kind}
      aria-label={p.name}
      value={text}
      data-filter=""
      onChange={(e) => setText(e.target.value)}
    />
  )
}

/** shown writes the value of a filter as its field does. */
export const shown = (f: Field, value: string) =>
  (f.kind === 'many' || f.several ? each(value) : [value])
    .map((v) => f.options?.find((o) => o.value === v)?.label ?? v)
    .join(', ')

/** worded is a filter that is set, in words. */
const worded = (f: Field, value: string) => f.label + (f.kind === 'set' ? '' : `: ${shown(f, value)}`)

/** inWords are filters in words, by the names that their fields have. */
export const inWords = (filters: Filters, fields: Field[]) =>
  Object.entries(filters)
    .map(([name, value]) => worded(fields.find((f) => f.name === name) ?? { name, label: name }, value))
    .join(', ')

/** Nothing says that filters leave nothing, each with a way to remove it. */
export function Nothing({ fields, never }: { fields: Field[]; never: React.ReactNode }) {
  const { say } = useSay()
  const [filters, change] = useFilters()
  const set = fields.filter((f) => filters[f.name])
  if (set.length === 0) return <div className="empty">{never}</div>
  return (
    <div className="chips">
      {say.nothingMatches}
      {set.map((f) => (
        <button key={f.name} className="btn" onClick={() => change({ [f.name]: '' })}>
          {worded(f, filters[f.name]!)} <span aria-label={say.removeIt}>×</span>
        </button>
      ))}
    </div>
  )
}
