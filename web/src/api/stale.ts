import type { QueryClient } from '@tanstack/react-query'

// What a topic of the stream makes stale, and how soon that is read again.

// The queries that a topic makes stale.
const stale: Record<string, string[]> = {
  report: ['queues'],
  flow: ['flow', 'reasons', 'adverts'],
  feed: ['recent', 'listings', 'listing', 'duplicates'],
  letters: ['letters', 'letter', 'queues', 'draft-requests'], // a request whose letter is open is dead
  replays: ['replays', 'replay'],
  platforms: ['platforms'],
  drafts: ['drafts', 'draft-requests'],
}

/** topics are those of the stream that every tab wants. */
export const topics = Object.keys(stale)

// The queries that a topic of one item makes stale, of which it has the ID behind a colon.
const staleOfOne: Record<string, string[]> = {
  run: ['run', 'why', 'urls'],
  upload: ['upload', 'refusals'],
  campaign: ['campaign', 'messages'],
}

/** staleBy are the queries that a topic makes stale, with the ID of the one item that they are of. */
export function staleBy(topic: string): { name: string; id?: string }[] {
  const [kind = '', id] = topic.split(':')
  if (id !== undefined) return (staleOfOne[kind] ?? []).map((name) => ({ name, id }))
  if (kind === 'resync') return [...Object.values(stale), ...Object.values(staleOfOne)].flat().map((name) => ({ name }))
  return (stale[kind] ?? []).map((name) => ({ name }))
}

/** told reports whether the stream says when a query of that name is stale. */
export const told = (name: string) => Object.values(stale).some((names) => names.includes(name))

// ms between two reads of a query: of figures that move with every advert it doubles up to these while they do.
const gap = 1_000
const gaps: Record<string, number> = {
  recent: 5_000,
  listings: 10_000,
  adverts: 10_000,
  flow: 5_000,
  reasons: 10_000,
  messages: 5_000,
  why: 5_000,
  urls: 5_000,
  refusals: 5_000,
}
const soon = 300 // ms in which what changes together is heard

/** pace is when a query may be read again: how long to wait from now, in ms, and the gap after that. */
export function pace(name: string, now: number, last: { at: number; gap: number } | undefined) {
  const most = gaps[name] ?? gap
  if (!last || now - last.at > 2 * most) return { wait: soon, gap }
  return { wait: Math.max(soon, last.at + last.gap - now), gap: Math.min(most, 2 * last.gap) }
}

/** isShort reports whether a query is read by one request. A list that was read on takes one for each of its pages. */
export const isShort = (data: unknown) => ((data as { pages?: unknown[] } | undefined)?.pages?.length ?? 0) < 2

/**
 * refetcher marks queries as stale, each at its pace, so that a burst of events is one request. A long list stays as it was
 * read, until its reader looks at it anew or changes something of it.
 */
export function refetcher(client: QueryClient) {
  const waiting = new Map<string, ReturnType<typeof setTimeout>>()
  const last = new Map<string, { at: number; gap: number }>()
  return {
    of(topic: string) {
      for (const { name, id } of staleBy(topic)) {
        const key = id === undefined ? name : `${name}:${id}`
        if (waiting.has(key)) continue
        const next = pace(name, Date.now(), last.get(key))
        waiting.set(
          key,
          setTimeout(() => {
            waiting.delete(key)
            last.set(key, { at: Date.now(), gap: next.gap })
            // A tab that nobody sees asks for nothing: what is stale is read when it is looked at again.
            void client.invalidateQueries({
              queryKey: [name],
              predicate: (q) =>
                isShort(q.state.data) && (id === undefined || q.queryKey.some((part) => String(part) === id)),
              refetchType: document.hidden ? 'none' : 'active',
            })
          }, next.wait),
        )
      }
    },
    stop: () => waiting.forEach(clearTimeout),
  }
}
