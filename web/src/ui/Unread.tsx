import type { ReactNode } from 'react'

import { Problem } from '../api/problem'
import { useSay } from '../say/Say'
import { Head, Trouble } from './parts'

/** Reading stands for what is being read: nothing for a moment, then its rows without words. */
export function Reading() {
  const { say } = useSay()
  return (
    <p className="reading" aria-busy="true">
      {say.reading}
    </p>
  )
}

/** whyNot is why something is not read: an error, or that the API asked to wait, and the query does. */
export const whyNot = (q: { error: unknown; failureReason?: unknown }) =>
  q.error ?? (q.failureReason instanceof Problem && q.failureReason.retryAfter !== undefined ? q.failureReason : null)

/** againOf is how to try again; undefined while the query waits to do so by itself, and would not before its time. */
export const againOf = (q: { error: unknown; refetch: () => unknown }) => (q.error ? () => void q.refetch() : undefined)

/** Unread stands for the page of a thing that is not read yet, or is not there: its name, the way back, and why. */
export function Unread(p: {
  of: { error: unknown; failureReason?: unknown; refetch: () => unknown }
  title: string // that the address has
  crumbs?: ReactNode
}) {
  const why = whyNot(p.of)
  if (!why) return <Reading />
  return (
    <>
      <Head crumbs={p.crumbs} title={<span className="m">{p.title}</span>} />
      <Trouble error={why} again={againOf(p.of)} />
    </>
  )
}
