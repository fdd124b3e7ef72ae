import { useQueryClient, type QueryClient } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'

import { refetcher, topics } from './stale'

// One stream a browser: browsers have six connections to an origin, and the seventh tab would hang without an error.
// The tab that holds a lock reads the stream, and tells the others. Without a secure context each tab has its own.

const tick = 5_000 // ms between looks while the stream is away
const silence = 40_000 // ms without a word, after which what is shown is stale
let heardAt = 0
let lost = false // the stream has broken, and is not back yet
const watchers = new Set<() => void>()

function heard() {
  heardAt = Date.now()
  lost = false
  watchers.forEach((w) => w())
}

/** useHeardAt is when the stream last said something, in ms of the clock and to 5 s; 0 = never. */
export const useHeardAt = () =>
  useSyncExternalStore(
    (w) => {
      watchers.add(w)
      return () => watchers.delete(w)
    },
    () => heardAt - (heardAt % tick),
  )

/** isLive reports whether the stream is heard, so that nothing has to be asked for by the clock. */
export const isLive = () => !lost && Date.now() - heardAt < silence

/** useLost reports whether the stream has broken. */
export const useLost = () =>
  useSyncExternalStore(
    (w) => {
      watchers.add(w)
      return () => watchers.delete(w)
    },
    () => lost,
  )

const wantedFor = 3 * tick // ms: a tab says at each tick what it wants
const mostWanted = 13 // of one item: the API takes 20 topics in all

const mine = new Map<string, number>() // topics of one item that this tab shows, by how many hooks want them
let sayMine = () => {} // to the tab that holds the stream
let toldOf: string[] = [] // topics of the stream, as far as this tab knows

// What the API takes as a topic of one item. It refuses the whole stream for any other, such as that of an address that
// was cut off.
const ofItem = /^(run:[1-9]\d{0,17}|(upload|campaign):[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/**
 * wanted are the topics that the stream is to have, when others were last heard to be wanted, in ms. Those that it has
 * come first: where more are wanted than it takes, it would be opened anew at each word otherwise.
 */
export const wanted = (others: Map<string, number>, now: number, has: string[] = []) => [
  ...topics,
  ...[...others]
    .filter(([topic, at]) => now - at < wantedFor && ofItem.test(topic))
    .sort(([a, x], [b, y]) => Number(has.includes(b)) - Number(has.includes(a)) || y - x)
    .slice(0, mostWanted)
    .map(([topic]) => topic)
    .sort(),
]

/** show has the stream tell of one item until what it returns is called. */
export function show(topic: string) {
  mine.set(topic, (mine.get(topic) ?? 0) + 1)
  sayMine()
  return () => {
    const n = mine.get(topic)! - 1
    if (n > 0) mine.set(topic, n)
    else mine.delete(topic)
  }
}

/** useTopic has the stream tell of one item as long as the component is shown: run:12, upload:ID, campaign:ID. */
export const useTopic = (topic: string) => useEffect(() => show(topic), [topic])

/** isTold reports whether the stream tells of one item, so that its page need not ask each second. */
export const isTold = (topic: string) => isLive() && toldOf.includes(topic)

/** useStream listens as long as the page is open, and only while the caller may. */
export function useStream(may: boolean) {
  const client = useQueryClient()
  useEffect(() => (may ? listen(client) : undefined), [client, may])
}

/** listen marks as stale what the stream says has changed, until what it returns is called. */
export function listen(client: QueryClient) {
  const refetch = refetcher(client)
  const end = new AbortController()
  const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('conveyor')
  const say = (topic: string) => {
    if (topic === 'lost') {
      lost = true
      watchers.forEach((w) => w())
      return
    }
    // Said again to each tab that asks, so it is no word of the stream itself.
    if (topic.startsWith('has ')) {
      toldOf = topic.slice('has '.length).split(',')
      return
    }
    heard()
    refetch.of(topic)
  }
  // Topics of one item that some tab wants, and when it last said so, for the tab that holds the stream.
  const others = new Map<string, number>()
  let changed = () => {}
  let sayHas = (_: string) => {} // to a tab that wants what the stream has, and may have been loaded since it was opened
  const want = (topic: string) => {
    others.set(topic, Date.now())
    changed()
  }
  // A tab that nobody sees wants nothing: its clock runs by the minute, so its topics would come and go.
  sayMine = () => {
    if (document.hidden) return
    mine.forEach((_, topic) => {
      want(topic)
      channel?.postMessage('want ' + topic)
    })
  }
  sayMine()
  document.addEventListener('visibilitychange', () => sayMine(), { signal: end.signal })
  // While the stream is away, what is shown is asked for by the clock, whatever pace each query has of its own.
  const poll = setInterval(() => {
    sayMine()
    changed()
    if ((lost || heardAt > 0) && !isLive()) refetch.of('resync')
  }, tick)
  channel?.addEventListener('message', (e: MessageEvent<string>) => {
    if (!e.data.startsWith('want ')) return say(e.data)
    const topic = e.data.slice('want '.length)
    want(topic)
    sayHas(topic)
  })
  const read = () =>
    new Promise<void>((closed) => {
      // The lock may be granted after the page has ended: a stream that nobody closes would keep it for good.
      if (end.signal.aborted) return closed()
      const tell = (topic: string) => {
        if (end.signal.aborted) return
        say(topic)
        channel?.postMessage(topic)
      }
      const open = () => {
        const source = new EventSource('/events?topics=' + has.join(','))
        source.onopen = () => {
          tell('has ' + has.join(','))
          tell('beat')
        }
        source.onerror = () => tell('lost')
        for (const topic of [...has, 'resync', 'beat']) source.addEventListener(topic, () => tell(topic))
        return source
      }
      let has = wanted(others, Date.now())
      let source = open()
      changed = () => {
        const now = wanted(others, Date.now(), has)
        if (now.join() === has.join()) return
        has = now
        source.close()
        source = open()
      }
      sayHas = (topic) => {
        const opened = source.readyState === EventSource.OPEN
        if (opened && has.includes(topic)) channel?.postMessage('has ' + has.join(','))
      }
      // A stream that was refused (503, 429) is closed for good: a browser comes back only to what broke. One without a
      // word, not even a beat, has nobody at its other end although it looks open.
      const pulse = setInterval(() => {
        const silent = source.readyState === EventSource.OPEN && Date.now() - heardAt > silence
        if (!silent && source.readyState !== EventSource.CLOSED) return
        source.close()
        source = open()
      }, 3 * tick)
      end.signal.addEventListener('abort', () => {
        clearInterval(pulse)
        source.close()
        closed()
      })
    })
  if (navigator.locks) {
    navigator.locks.request('conveyor-stream', { signal: end.signal }, read).catch(() => {}) // aborted: the page ends
  } else void read()
  return () => {
    end.abort()
    sayMine = () => {}
    toldOf = []
    clearInterval(poll)
    refetch.stop()
    channel?.close()
  }
}
