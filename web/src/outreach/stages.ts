import type { Schemas } from '../api/client'

export interface Stage {
  name: 'read' | 'valid' | 'stored'
  n: number
  of: number // rows, as far as they are known
  exact: boolean // of is what it will be
  share: number // 0 to 1
}

/**
 * stages are how far the rows of a file are. How many a file has is known when all of its parts are stored; before, it
 * is as many as the parts that are stored have on average.
 */
export function stages(u: Pick<Schemas['Upload'], 'state' | 'rows' | 'chunks' | 'stored_chunks'>): Stage[] {
  const done = u.state === 'done'
  const of = done || u.stored_chunks === 0 ? u.rows.read : Math.round((u.rows.read * u.chunks) / u.stored_chunks)
  const stage = (name: Stage['name'], n: number, all: number): Stage => ({
    name,
    n,
    of: all,
    exact: done,
    share: done ? 1 : all > 0 ? Math.min(1, n / all) : 0,
  })
  const good = u.rows.read > 0 ? u.rows.valid / u.rows.read : 1
  const valid = done ? u.rows.valid : Math.round(of * good)
  return [
    stage('read', u.rows.read, of),
    stage('valid', u.rows.valid, valid),
    stage('stored', u.rows.new + u.rows.updated + u.rows.skipped, valid),
  ]
}

/** mask hides a number or an address, as the API does. */
export function mask(text: string) {
  const words = [...text].filter((c) => /[\p{L}\p{N}]/u.test(c)).length
  let n = 0
  return [...text]
    .map((c) => {
      if (!/[\p{L}\p{N}]/u.test(c)) return c
      n++
      return words >= 8 && (n <= 2 || n > words - 2) ? c : '•'
    })
    .join('')
}
