// A file on its way to the API. Its key is kept in this browser until the API has answered: after a reload or a lost
// connection the same file, chosen again, is the same upload, however much of it had arrived.

import { useEffect, useState } from 'react'

import { newKey } from './once'

export interface Sending {
  by: string // the caller: what one sends is not for another who uses this browser
  tenant: string
  name: string
  size: number
  modified: number // of the file, ms
  hold: boolean
  dryRun: boolean
  key: string
  at: number // when it began, ms
}

const place = 'conveyor.sending ' // with the key behind it: tabs that send at once each keep their own
const lock = 'conveyor-sending ' // with the key behind it: held by the tab that sends
const day = 86_400_000 // then a file is another upload

const here = new Set<string>() // keys that this tab is sending
const watchers = new Set<() => void>()
const changed = () => watchers.forEach((w) => w())

function parsed(text: string | null): Sending | undefined {
  try {
    const s = JSON.parse(text ?? 'null') as Sending | null
    return s && typeof s.key === 'string' && typeof s.name === 'string' ? s : undefined
  } catch {
    return undefined
  }
}

/** readSendings are the files of which no answer is known, also those that some tab is sending, the latest first. */
export function readSendings(now = Date.now()): Sending[] {
  const found: Sending[] = []
  try {
    const places = Array.from({ length: localStorage.length }, (_, i) => localStorage.key(i) ?? '')
    for (const p of places.filter((p) => p.startsWith(place))) {
      const s = parsed(localStorage.getItem(p))
      if (s && p === place + s.key && now - s.at < day) found.push(s)
      else localStorage.removeItem(p)
    }
  } catch {
    // nothing is kept in this browser
  }
  return found.sort((a, b) => b.at - a.at)
}

function keep(s: Sending) {
  try {
    localStorage.setItem(place + s.key, JSON.stringify(s))
  } catch {
    // without a store a file that is cut off is sent anew
  }
}

/** forgetSending takes a file for another upload when it is chosen again. */
export function forgetSending(key: string) {
  try {
    localStorage.removeItem(place + key)
  } catch {
    // nothing was kept
  }
  changed()
}

type Whose = Pick<Sending, 'by' | 'tenant'>

const isOf = (s: Whose, w: Whose) => s.by === w.by && s.tenant === w.tenant

/**
 * begin is the sending of a file: the one of which no answer is known, with what was asked for then whatever is asked for
 * now, or a new one.
 */
export function begin(
  u: { by: string; tenant: string; file: Pick<File, 'name' | 'size' | 'lastModified'>; hold: boolean; dryRun: boolean },
  now = Date.now(),
): Sending {
  const { name, size, lastModified: modified } = u.file
  const was = readSendings(now).find((s) => isOf(s, u) && s.name === name && s.size === size && s.modified === modified)
  if (was) return was
  const key = newKey()
  return { by: u.by, tenant: u.tenant, name, size, modified, hold: u.hold, dryRun: u.dryRun, key, at: now }
}

/**
 * whileSending keeps a file, and has all tabs know that it is in flight until send has ended. What another tab sends
 * already waits for it, and is the same upload then. Without a secure context tabs do not know of each other's files.
 */
export async function whileSending<T>(s: Sending, send: () => Promise<T>): Promise<Awaited<T>> {
  // Kept only under the lock: other tabs hear at once of what is kept, and take it for cut off where nobody sends it.
  const go = () => {
    keep(s)
    return send()
  }
  here.add(s.key)
  try {
    return await (navigator.locks ? navigator.locks.request(lock + s.key, go) : go())
  } finally {
    here.delete(s.key)
    changed()
  }
}

/** cutOff are the files of which no answer is known and that no tab is sending, the latest first. */
export async function cutOff(): Promise<Sending[]> {
  const before = new Set(readSendings().map((s) => s.key))
  const locks = await navigator.locks?.query().catch(() => undefined)
  const flies = (key: string) => here.has(key) || !!locks?.held?.some((l) => l.name === lock + key)
  // One that was answered, or begun, since the locks were asked for is not cut off.
  return readSendings().filter((s) => before.has(s.key) && !flies(s.key))
}

/** useCutOff are the files that a caller sent for a tenant and that were cut off, the latest first. */
export function useCutOff(whose: Whose): Sending[] {
  const [all, setAll] = useState<Sending[]>([])
  useEffect(() => {
    const end = new AbortController()
    const { signal } = end
    const look = () => void cutOff().then((found) => signal.aborted || setAll(found))
    look()
    watchers.add(look)
    window.addEventListener('storage', look, { signal })
    document.addEventListener('visibilitychange', look, { signal }) // nothing is heard of a tab that was closed
    return () => {
      end.abort()
      watchers.delete(look)
    }
  }, [])
  return all.filter((s) => isOf(s, whose))
}

/** ended reports whether an answer is the last word about a file: one that is no answer, or "later", is not. */
export const ended = (status: number) => status > 0 && status < 500 && ![401, 408, 429].includes(status)
