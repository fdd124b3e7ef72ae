import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, type ReactNode } from 'react'

import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Ask, typeAbove, TypeNumber } from './Ask'
import { Trouble } from './parts'

/** What a bulk action would do, or has done so far. */
export interface Effect {
  matched: number // all that the filter means
  done: number
  left: number
  refused?: string[] // what is said of those that could not be done, and are not left
  sample?: ReactNode[] // at most ten
}

/** inPortions acts until none is left or it is stopped, and says after each portion how many are done; sum were before. */
export async function inPortions(
  act: (dryRun: boolean) => Promise<Effect>,
  sum: number,
  say: (sum: number) => void,
  stopped: () => boolean,
) {
  let left = Infinity
  while (left > 0) {
    const e = await act(false)
    sum += e.done
    say(sum)
    if (e.done + (e.refused?.length ?? 0) === 0 || e.left >= left) return // what is left cannot be done
    left = e.left
    if (stopped()) return
  }
}

/**
 * Bulk asks before many things change: what the filter means, in words and as a number with samples, then does it in
 * portions until none is left. The filter is that of the moment when the dialog was opened.
 */
export function Bulk(p: {
  title: string
  filter: string
  danger?: boolean
  act: (dryRun: boolean, signal?: AbortSignal) => Promise<Effect> // the signal ends a dry run that nobody waits for
  button: (n: string) => string
  done: (n: string) => ReactNode
  stale: string[] // queries that change with what is done
  onDone?: () => void // it has ended, and was not stopped
  onClose: () => void
}) {
  const { say, language } = useSay()
  const client = useQueryClient()
  const [act] = useState(() => p.act)
  const [filter] = useState(p.filter)
  const [plan, setPlan] = useState<Effect>()
  const [typed, setTyped] = useState('')
  const [state, setState] = useState<'planned' | 'going' | 'done'>('planned')
  const stopped = useRef(false)
  const [done, setDone] = useState(0)
  const [round, setRound] = useState(0) // of the dry run, which may fail
  const [error, setError] = useState<unknown>()

  useEffect(() => {
    const end = new AbortController()
    stopped.current = false
    act(true, end.signal).then(
      (e) => !end.signal.aborted && setPlan(e),
      (e: unknown) => !end.signal.aborted && setError(e),
    )
    return () => {
      end.abort()
      stopped.current = true // closed, the dialog sends no further portion
    }
  }, [act, round])

  const go = async () => {
    setState('going')
    setError(undefined)
    try {
      await inPortions(act, done, setDone, () => stopped.current)
      setState('done')
      if (!stopped.current) p.onDone?.()
    } catch (e) {
      setError(e)
      setState('planned')
    }
    for (const name of p.stale) void client.invalidateQueries({ queryKey: [name] })
  }
  const n = plan?.matched ?? 0
  const mustType = plan && (p.danger || n > typeAbove)
  const countAgain = () => {
    setError(undefined)
    setRound(round + 1)
  }
  return (
    <Ask title={p.title} held={state === 'going'} onClose={p.onClose}>
      <h2>{p.title}</h2>
      <p className="m2">{filter}</p>
      <Trouble error={error} again={plan ? undefined : countAgain} />
      {!plan && !error && (
        <p aria-busy="true" role="status">
          {say.counting}
        </p>
      )}
      {done > 0 && state === 'planned' && <p role="status">{say.doneOf(count(done, language), count(n, language))}</p>}
      {plan && state === 'planned' && (
        <>
          <p>
            <b>{say.matching(n, count(n, language))}</b>
          </p>
          {plan.sample && plan.sample.length > 0 && (
            <ul>
              {plan.sample.map((s, i) => (
                <li key={i}>{s}</li>
              ))}
            </ul>
          )}
          {mustType && n > 0 && <TypeNumber n={n} typed={typed} onType={setTyped} />}
        </>
      )}
      {state === 'going' && (
        <p role="status">
          <progress max={n} value={done} /> {say.doneOf(count(done, language), count(n, language))}
        </p>
      )}
      {state === 'done' && <p role="status">{p.done(count(done, language))}</p>}
      <div className="btns">
        {state === 'planned' && (
          <button
            className="btn p"
            disabled={!plan || n === 0 || (mustType && typed !== String(n))}
            onClick={() => void go()}
          >
            {p.button(plan ? count(n, language) : '…')}
          </button>
        )}
        {state === 'going' && (
          <button className="btn" onClick={() => (stopped.current = true)}>
            {say.stop}
          </button>
        )}
        <button className="btn" onClick={p.onClose}>
          {state === 'done' ? say.close : say.cancel}
        </button>
      </div>
    </Ask>
  )
}
