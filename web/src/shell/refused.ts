import { useSyncExternalStore } from 'react'

import type { Problem } from '../api/problem'

let locked = false
const watchers = new Set<() => void>()

/** refused is told of every failed call: 401 opens the login above the page. */
export function refused(p: Problem) {
  if (p.status === 401) lock(true)
}

/** lock opens or closes the login. */
export function lock(to: boolean) {
  locked = to
  watchers.forEach((w) => w())
}

/** useLocked reports whether the API wants to know the caller. */
export const useLocked = () =>
  useSyncExternalStore(
    (w) => {
      watchers.add(w)
      return () => watchers.delete(w)
    },
    () => locked,
  )
