import type { QueryClient } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

import type { Schemas } from '../api/client'

let last: string | undefined // the last caller there was
let turn = 0
const watchers = new Set<() => void>()

/** anew forgets all that was read for a caller, and has the page drawn as for the first time: nothing shown is kept. */
export function anew(client: QueryClient) {
  const read = client.resetQueries({ predicate: (q) => q.queryKey[0] !== 'session' })
  turn++
  watchers.forEach((w) => w())
  return read
}

/** called is told of each answer about the session, whichever tab of the browser logged in: another caller begins anew. */
export function called(client: QueryClient, { caller }: Schemas['Session']) {
  if (!caller) return // the same one may log in again, and finds what was typed
  const now = JSON.stringify([caller.name, caller.role, caller.tenant ?? ''])
  const other = last !== undefined && last !== now
  last = now
  if (other) void anew(client)
}

/** useTurn is a number that is another one for each caller. */
export const useTurn = () =>
  useSyncExternalStore(
    (w) => {
      watchers.add(w)
      return () => watchers.delete(w)
    },
    () => turn,
  )
