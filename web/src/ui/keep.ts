import { useEffect, useState } from 'react'

/** A Kept list is what is shown, and how many newer rows wait to be shown. */
export interface Kept<T> {
  rows: T[]
  waiting: number
}

/**
 * keepPlace decides what is shown of rows (the newest first) while somebody reads held: those stay where they are, as
 * they are now, and rows above the first of them wait. Rows of which none is left are shown as they were, unless there
 * are no others: what was done to all of them must be seen.
 */
export function keepPlace<T>(rows: T[], held: T[] | undefined, id: (row: T) => string): Kept<T> {
  if (!held || held.length === 0 || rows.length === 0) return { rows, waiting: 0 }
  const index = new Map(rows.map((r, i) => [id(r), i]))
  const anchor = held.find((r) => index.has(id(r)))
  if (!anchor) return { rows: held, waiting: rows.length }
  const at = index.get(id(anchor))!
  return { rows: rows.slice(at), waiting: at }
}

/** useReading reports whether somebody is in the middle of what ref holds: scrolled into it, or with the focus in it. */
export function useReading(ref: React.RefObject<HTMLElement | null>, below: number) {
  const [reading, setReading] = useState(false)
  useEffect(() => {
    const look = () => {
      const e = ref.current
      setReading(!!e && (e.getBoundingClientRect().top < below || e.contains(document.activeElement)))
    }
    const later = () => setTimeout(look) // the focus has moved only after focusout
    window.addEventListener('scroll', look, { passive: true })
    document.addEventListener('focusin', look)
    document.addEventListener('focusout', later)
    look()
    return () => {
      window.removeEventListener('scroll', look)
      document.removeEventListener('focusin', look)
      document.removeEventListener('focusout', later)
    }
  }, [ref, below])
  return reading
}

/**
 * usePlace keeps rows where they are while somebody reads or holds them. A key says what the list is of: with another
 * one all is new. show lets in those that wait.
 */
export function usePlace<T>(rows: T[], id: (row: T) => string, still: boolean, key: string) {
  const [held, setHeld] = useState<{ key: string; rows: T[] }>()
  const mine = held?.key === key && still ? held.rows : undefined
  // What is shown at the moment when reading begins is remembered, and forgotten when it ends, or
  // when none of it is there any more.
  if (still && !mine && rows.length > 0) setHeld({ key, rows })
  if ((!still || rows.length === 0) && held) setHeld(undefined)
  return { ...keepPlace(rows, mine, id), show: () => setHeld({ key, rows }) }
}
