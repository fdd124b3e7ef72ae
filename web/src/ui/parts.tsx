import { useEffect, useRef, useState, type ReactElement, type ReactNode, type Ref } from 'react'

import { Problem } from '../api/problem'
import { useSay } from '../say/Say'
import { ToPage } from './ToPage'

/** Section is a part of a page: a rule, a heading, and what is true in it. */
export function Section(p: {
  title: ReactNode
  note?: ReactNode
  go?: ReactNode
  children: ReactNode
  wide?: boolean
  heading?: Ref<HTMLHeadingElement> // to give it the focus
}) {
  return (
    <section className="sec">
      <header>
        <h2 ref={p.heading} tabIndex={p.heading ? -1 : undefined}>
          {p.title}
        </h2>
        {p.note !== undefined && <span className="mu">{p.note}</span>}
        {p.go && <span className="go">{p.go}</span>}
      </header>
      {p.wide ? (
        <div
          className="scroll"
          tabIndex={0}
          role="region"
          aria-label={typeof p.title === 'string' ? p.title : undefined}
        >
          {p.children}
        </div>
      ) : (
        p.children
      )}
    </section>
  )
}

type Column = string | ReactElement

/** Heads are the heads of a table's columns, each with the class of its column where that has one. */
export function Heads({ of }: { of: (Column | [Column, className: string])[] }) {
  return (
    <thead>
      <tr>
        {of.map((h, i) => {
          const [head, className] = Array.isArray(h) ? h : [h]
          return (
            <th key={i} className={className} scope="col">
              {head}
            </th>
          )
        })}
      </tr>
    </thead>
  )
}

/** Options are the values of a select, and what they are called. */
export const Options = ({ of }: { of: (readonly [value: string, name: string | undefined])[] | undefined }) =>
  of?.map(([value, name]) => (
    <option key={value} value={value}>
      {name}
    </option>
  ))

/** Trouble shows why something is not there, and how to try again. id is for the fields that it is about. */
export function Trouble({ error, again, id }: { error: unknown; again?: () => void; id?: string }) {
  const { say } = useSay()
  if (!error) return null
  const p = Problem.of(error)
  return (
    <div className="problem" role="alert" id={id}>
      {p.status === 0 ? <b>{say.noAnswer}</b> : <b lang="en">{p.title}</b>}
      {p.detail && p.status !== 0 && <span lang="en">: {p.detail}</span>}
      {p.fields.map((f, i) => (
        <div key={i} lang="en">
          {f.location && <span className="m">{f.location}</span>} {f.message}
        </div>
      ))}
      {p.retryAfter !== undefined && <div>{say.retryAfter(p.retryAfter)}</div>}
      {p.traceId && (
        <div className="mu">
          trace <Copy text={p.traceId} />
        </div>
      )}
      {again && (
        <div>
          <button className="btn" onClick={again}>
            {say.tryAgain}
          </button>
        </div>
      )}
    </div>
  )
}

/** copied reports whether a text is in the clipboard now: there may be none, as the page is no secure context. */
export async function copied(text: string, clipboard: Pick<Clipboard, 'writeText'> | undefined) {
  try {
    await clipboard?.writeText(text)
    return !!clipboard
  } catch {
    return false // refused
  }
}

/** Copy is an identifier that a click copies, or leaves selected where it cannot. */
export function Copy({ text, short, isID }: { text: string; short?: string; isID?: boolean }) {
  const { say } = useSay()
  const [done, setDone] = useState<boolean>()
  if (done === false)
    return (
      <input
        className="in m"
        readOnly
        autoFocus
        aria-label={say.copy}
        value={text}
        onFocus={(e) => e.target.select()}
      />
    )
  return (
    <button
      className="copy m"
      data-key={isID ? 'y' : undefined}
      title={`${say.copy}: ${text}`}
      onClick={() => void copied(text, navigator.clipboard).then(setDone)}
      onBlur={() => setDone(undefined)}
    >
      {done ? say.copied : (short ?? text)}
    </button>
  )
}

/** Out is a link to another program or site. Only http and https are links; a stranger's address shows its host. */
export function Out({ href, children }: { href: string | undefined; children?: ReactNode }) {
  let host = ''
  try {
    const u = new URL(href ?? '')
    if (u.protocol === 'https:' || u.protocol === 'http:') host = u.host
  } catch {} // not an address: shown as text
  if (!host) return <span className="m">{href}</span>
  return (
    <a href={href} target="_blank" rel="noreferrer noopener" data-out="">
      {children ?? host} <span aria-hidden="true">↗</span>
    </a>
  )
}

/** InTemporal links to a workflow in the Web UI. */
export function InTemporal({
  workflow,
  button,
}: {
  workflow: { id: string; url: string } | undefined
  button?: boolean
}) {
  const { say } = useSay()
  if (!workflow?.url) return null
  return (
    <a
      className={button ? 'btn p' : undefined}
      href={workflow.url}
      target="_blank"
      rel="noreferrer noopener"
      data-key="t"
      title={workflow.id}
    >
      {say.inTemporal} <span aria-hidden="true">↗</span>
    </a>
  )
}

/** Empty says what would be here, and how to make some. */
export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>
}

/** Head is the top of a page: its name, which is also that of the tab, a sentence, and what can be done. */
export function Head(p: { title: ReactNode; crumbs?: ReactNode; children?: ReactNode; actions?: ReactNode }) {
  const name = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${name.current?.textContent} – Conveyor`
  })
  return (
    <>
      {p.crumbs && <nav className="crumb">{p.crumbs}</nav>}
      <div className="head">
        <div>
          <h1 ref={name}>{p.title}</h1>
          {p.children}
        </div>
        {p.actions && <div className="btns">{p.actions}</div>}
      </div>
    </>
  )
}

/** Crumb links to a page above, of a tenant where that page is of one. */
export function Crumb({ to, tenant, children }: { to: string; tenant?: string; children: ReactNode }) {
  return (
    <>
      <ToPage to={to} search={{ tenant: tenant || undefined }}>
        {children}
      </ToPage>{' '}
      <span aria-hidden="true">›</span>
    </>
  )
}

/** Json shows a payload as it is, bounded: the whole of it can be copied. */
export function Json({ value }: { value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return <pre tabIndex={0}>{text.length > 50_000 ? text.slice(0, 50_000) + '\n…' : text}</pre>
}
