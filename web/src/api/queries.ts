// One hook a call: nothing else asks the API. Those of crawl runs are in crawl.ts.

import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { api, type Schemas } from './client'
import { answer, mayPass, Problem } from './problem'
import { isShort, told } from './stale'
import { isLive, isTold, useTopic } from './stream'

const tick = 5_000 // ms between looks at what changes by itself, where the stream does not tell
const slow = 60_000 // and where it does, for what it may have missed

/** every is how often a query asks by itself: seldom while the stream is heard. */
export const every =
  (times = 1) =>
  () =>
    isLive() ? slow : times * tick
const first = '' // the cursor of the first page
const byCursor = {
  initialPageParam: first,
  getNextPageParam: (page: { next_cursor?: string }) => page.next_cursor || undefined,
}

export type Filters = Record<string, string>

/** query makes query parameters of filters; the page has only let through those that the call knows. */
export const query = (f: Filters, cursor: string, limit = 100) =>
  ({
    ...Object.fromEntries(Object.entries(f).filter(([, v]) => v !== '')),
    limit,
    cursor: cursor || undefined,
  }) as never

const ofTenant = (tenant: string) => ({ tenant: tenant || undefined })

const isRefused = (error: unknown) => !!error && !mayPass(error)

/** isCurrent reports whether a list is asked for by the clock: it is one page, and was not refused. */
export const isCurrent = (q: { error: unknown; data?: unknown }) =>
  !isRefused(q.error) && q.data !== undefined && isShort(q.data)

/** useList reads a list page by page. */
export function useList<T>(
  name: string,
  filters: Filters,
  read: (cursor: string) => Promise<{ items: T[]; next_cursor?: string }>,
  enabled = true,
) {
  return useInfiniteQuery({
    enabled,
    queryKey: [name, filters],
    queryFn: ({ pageParam }) => read(pageParam),
    ...byCursor,
    // A list that the stream does not tell of is asked for by the clock, as long as it is one page.
    refetchInterval: (q) => (!told(name) && isCurrent(q.state) ? 2 * tick : false),
    placeholderData: keepPreviousData,
  })
}

/**
 * useReport is the state of everything that waits; keys of a tenant may not see it. With of, a component is drawn again
 * only when that part changes.
 */
export function useReport<T = Schemas['Report']>(of?: (r: Schemas['Report']) => T) {
  const enabled = !useSession().data?.caller?.tenant
  return useQuery({
    queryKey: ['queues'],
    queryFn: () => answer(api.GET('/queues')),
    select: of,
    refetchInterval: every(),
    enabled,
  })
}

export type PastWindow = '1h' | '6h' | '24h' | '48h'

/** useQueuePast is what waited, sample by sample: of all queues, or of one. */
export const useQueuePast = (window: PastWindow, queue?: string) =>
  useQuery({
    queryKey: ['queue-past', window, queue],
    queryFn: () => answer(api.GET('/queues/history', { params: { query: { window, queue } } })),
    refetchInterval: 6 * tick, // a sample is made each 30 s
    placeholderData: keepPreviousData,
  })

/** starting are the services that every change needs. */
export const starting = ['postgres', 'temporal']

const servicesOf = (r: Schemas['Report']) => r.services

/** useAway are the services that do not answer or store nothing, as the API sees them; it goes on with what needs none of them. */
export function useAway(): string[] {
  const services = useReport(servicesOf)
  if (services.isError && Problem.of(services.error).status === 503) return ['postgres']
  return Object.entries(services.data ?? {})
    .filter(([, state]) => state === 'away' || state === 'stuck')
    .map(([name]) => name)
}

export const usePlatforms = () =>
  useQuery({ queryKey: ['platforms'], queryFn: () => answer(api.GET('/platforms')), refetchInterval: every() })

export const usePlatform = (name: string) =>
  useQuery({
    queryKey: ['platforms', name],
    queryFn: () => answer(api.GET('/platforms/{name}', { params: { path: { name } } })),
    refetchInterval: every(),
  })

export const useReasons = (days: number, platform?: string) =>
  useQuery({
    queryKey: ['reasons', days, platform],
    queryFn: () => answer(api.GET('/adverts/reasons', { params: { query: { days, platform } } })),
    refetchInterval: every(6),
  })

const hours: Record<Window, number> = { '1h': 1, '24h': 24, '7d': 7 * 24 }

/** useReasonsOf is why adverts were refused that were read in the window up to now, and are refused still. */
export const useReasonsOf = (window: Window) =>
  useQuery({
    queryKey: ['reasons', window],
    queryFn: async () => {
      const since = new Date(Date.now() - hours[window] * 3_600_000).toISOString()
      const { counts } = await answer(api.GET('/adverts/reasons', { params: { query: { since } } }))
      return { counts, since }
    },
    refetchInterval: every(6),
    placeholderData: keepPreviousData,
  })

export const useAdverts = (f: Filters, enabled = true) =>
  useList('adverts', f, (c) => answer(api.GET('/adverts', { params: { query: query(f, c) } })), enabled)

/** readAdverts are the first of the adverts that match: a page of the API may have none, and be followed by others. */
export const readAdverts = async (f: Filters, limit: number, signal?: AbortSignal) =>
  (await readTo(limit, (c) => answer(api.GET('/adverts', { params: { query: query(f, c, limit) }, signal })))).items

/** readTo reads a list page by page, at most so many rows of it; more tells that there are others. */
async function readTo<T>(most: number, read: (cursor: string) => Promise<{ items: T[]; next_cursor?: string }>) {
  const items: T[] = []
  let cursor = first
  do {
    const page = await read(cursor)
    items.push(...page.items)
    cursor = page.next_cursor ?? ''
  } while (cursor && items.length < most)
  return { items: items.slice(0, most), more: cursor !== '' || items.length > most }
}

/** readAdvertIDs are the listings of all adverts that match, at most so many; more tells that there are others. */
export async function readAdvertIDs(f: Filters, most: number, signal?: AbortSignal) {
  const { items, more } = await readTo(most, (c) =>
    answer(api.GET('/adverts', { params: { query: query(f, c) }, signal })),
  )
  return { ids: items.map((a) => a.listing_id), more }
}

export const useListings = (f: Filters, enabled = true) =>
  useList('listings', f, (c) => answer(api.GET('/listings', { params: { query: query(f, c) } })), enabled)

export const useListing = (id: string) =>
  useQuery({
    queryKey: ['listing', id],
    queryFn: () => answer(api.GET('/listings/{id}', { params: { path: { id } } })),
    refetchInterval: every(2),
  })

/** useRents are the median rents asked of all places of a kind, month by month, since a day; they change slowly. */
export const useRents = (by: 'borough' | 'neighbourhood', bedrooms: number, since: string, wanted: boolean) =>
  useQuery({
    queryKey: ['rents', by, bedrooms, since],
    queryFn: ({ signal }) =>
      answer(api.GET('/stats/rents', { params: { query: { by, bedrooms: [bedrooms], since } }, signal })),
    enabled: wanted,
    staleTime: 12 * slow,
    retry: false,
  })

export const useLetters = (f: Filters) =>
  useList('letters', f, (c) => answer(api.GET('/dead-letters', { params: { query: query(f, c) } })))

export const useLetter = (id: number) =>
  useQuery({
    queryKey: ['letter', id],
    queryFn: () => answer(api.GET('/dead-letters/{id}', { params: { path: { id } } })),
  })

export const useReplays = (f: Filters) =>
  useList('replays', f, (c) => answer(api.GET('/replays', { params: { query: query(f, c) } })))

export const useReplay = (id: string) =>
  useQuery({
    queryKey: ['replay', id],
    queryFn: () => answer(api.GET('/replays/{id}', { params: { path: { id } } })),
    refetchInterval: (q) => (q.state.data?.state === 'running' ? 1_000 : false),
  })

export const useDuplicates = (f: Filters) =>
  useList('duplicates', f, (c) => answer(api.GET('/duplicates', { params: { query: query(f, c, 50) } })))

export const useDrafts = (f: Filters) =>
  useList('drafts', f, (c) => answer(api.GET('/drafts', { params: { query: query(f, c) } })))

export const useDraft = (id: string) =>
  useQuery({ queryKey: ['draft', id], queryFn: () => answer(api.GET('/drafts/{id}', { params: { path: { id } } })) })

export const useDraftRequests = (f: Filters) =>
  useList('draft-requests', f, (c) => answer(api.GET('/crawl-requests', { params: { query: query(f, c) } })))

export const useDraftRequest = (id: string) =>
  useQuery({
    queryKey: ['draft-request', id],
    queryFn: () => answer(api.GET('/crawl-requests/{event_id}', { params: { path: { event_id: id } } })),
    refetchInterval: (q) =>
      !isRefused(q.state.error) && ['queued', 'running'].includes(q.state.data?.state ?? 'queued') ? 1_000 : false,
  })

export const useAudit = (f: Filters, enabled = true) =>
  useList('audit', f, (c) => answer(api.GET('/audit', { params: { query: query(f, c) } })), enabled)

export const useKeyList = () => useQuery({ queryKey: ['keys'], queryFn: () => answer(api.GET('/keys')) })

/** useDo returns a change: what it answers is read again wherever it is shown. */
export function useDo<In, Out>(change: (input: In) => Promise<Out>, ...stale: string[]) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSettled: () => Promise.all(stale.map((name) => client.invalidateQueries({ queryKey: [name] }))),
  })
}

export const processListing = ({
  platform,
  platform_id,
  ...body
}: { platform: string; platform_id: string } & Schemas['ProcessStart']) =>
  answer(api.POST('/listings/{platform}/{platform_id}/process', { params: { path: { platform, platform_id } }, body }))

export const claimListing = (l: { platform: string; platform_id: string; claim: boolean }) =>
  answer(
    api.POST(l.claim ? '/listings/{platform}/{platform_id}/claim' : '/listings/{platform}/{platform_id}/unclaim', {
      params: { path: { platform: l.platform, platform_id: l.platform_id } },
    }),
  )

export const replayLetter = (l: { id: number; force?: boolean }) =>
  answer(api.POST('/dead-letters/{id}/replay', { params: { path: { id: l.id } }, body: { force: l.force } }))

export const discardLetter = (id: number) => answer(api.DELETE('/dead-letters/{id}', { params: { path: { id } } }))

export const replayLetters = (body: Schemas['ReplayLetters']) => answer(api.POST('/dead-letters/replay', { body }))

export const startReplay = (body: Schemas['ReplayStart'], key: string) =>
  answer(api.POST('/replays', { params: { header: { 'Idempotency-Key': key } }, body }))

/** planReplay counts what a replay would be of. */
export const planReplay = (body: Schemas['ReplayStart']) =>
  answer(api.POST('/replays', { body: { ...body, dry_run: true } }))

export const cancelReplay = (id: string) => answer(api.DELETE('/replays/{id}', { params: { path: { id } } }))

export const orderPlatform = (p: { name: string; order: 'pause' | 'resume' | 'scrape' }) =>
  answer(api.POST(`/platforms/{name}/${p.order}` as const, { params: { path: { name: p.name } } }))

export const setPlatform = (p: { name: string; patch: Schemas['PlatformPatch'] }) =>
  answer(api.PATCH('/platforms/{name}', { params: { path: { name: p.name } }, body: p.patch }))

export const decide = ({ id, ...body }: { id: string } & Schemas['DuplicateDecision']) =>
  answer(api.POST('/duplicates/{id}', { params: { path: { id } }, body }))

export const undoVerdict = (number: number) =>
  answer(api.POST('/duplicates/verdicts/{number}/undo', { params: { path: { number } } }))

export const requestDraft = (body: Schemas['DraftRequest'], key: string) =>
  answer(api.POST('/crawl-requests', { params: { header: { 'Idempotency-Key': key } }, body }))

export const cancelDraftRequest = (event_id: string) =>
  answer(api.POST('/crawl-requests/{event_id}/cancel', { params: { path: { event_id } } }))

export const createKey = (body: Schemas['KeyStart']) => answer(api.POST('/keys', { body }))

export const revokeKey = (key: string) => answer(api.DELETE('/keys/{key}', { params: { path: { key } } }))

export const useSessionList = () => useQuery({ queryKey: ['sessions'], queryFn: () => answer(api.GET('/sessions')) })

export const endSessions = (caller: string) => answer(api.DELETE('/sessions', { params: { query: { caller } } }))

export const useLicences = () =>
  useQuery({ queryKey: ['licences'], queryFn: () => answer(api.GET('/licences')), staleTime: Infinity })

/** useFound is what the API finds by what a person typed. */
export const useFound = (q: string, tenant?: string) =>
  useQuery({
    queryKey: ['find', q, tenant],
    queryFn: ({ signal }) => answer(api.GET('/find', { params: { query: { q, tenant } }, signal })),
    enabled: q !== '',
    staleTime: 10_000,
    retry: false,
  })

/** signIn exchanges a key for the cookie of a session. */
export const signIn = (key: string) => answer(api.POST('/session', { body: { key } }))

export type Role = Schemas['Key']['role']

const roles: Role[] = ['read', 'operate', 'admin']

/** sessionQuery reads the caller. */
export const sessionQuery = { queryKey: ['session'], queryFn: () => answer(api.GET('/session')) }

/** useSession is the caller and what the console needs before anything else. It needs no credentials. */
export const useSession = () =>
  useQuery({
    ...sessionQuery,
    refetchInterval: 12 * tick,
    staleTime: tick,
  })

/** useCaller is a text that is another one for each caller, of whichever tenant; '' = authentication is off. */
export function useCaller() {
  const caller = useSession().data?.caller
  return caller ? JSON.stringify([caller.name, caller.tenant ?? '']) : ''
}

/** covers reports whether a role has what another may do. Without one, authentication is off: all may be done. */
export const covers = (mine: Role | undefined, role: Role) => !mine || roles.indexOf(mine) >= roles.indexOf(role)

/** useMay reports whether the caller has a role, or one above it. The API decides; this only explains beforehand. */
export const useMay = (role: Role) => covers(useSession().data?.caller?.role, role)

export const signOut = () => answer(api.DELETE('/session'))

export type Window = '1h' | '24h' | '7d'

export const useFlow = (window: Window) =>
  useQuery({
    queryKey: ['flow', window],
    queryFn: () => answer(api.GET('/flow', { params: { query: { window } } })),
    refetchInterval: 2 * tick, // the stream tells of listings and stored pages only
    placeholderData: keepPreviousData,
  })

export const useRecent = () =>
  useQuery({
    queryKey: ['recent'],
    queryFn: () => answer(api.GET('/listings/recent', { params: { query: { limit: 50 } } })),
    refetchInterval: every(),
  })

export const useListingCount = (f: Filters, enabled = true) =>
  useQuery({
    enabled,
    queryKey: ['listings', 'count', f],
    queryFn: ({ signal }) => answer(api.GET('/listings/count', { params: { query: f as never }, signal })),
    placeholderData: keepPreviousData,
  })

export const useCells = (f: Filters, bbox: string, zoom: number) =>
  useQuery({
    queryKey: ['listings', 'cells', f, bbox, zoom],
    queryFn: ({ signal }) =>
      answer(api.GET('/listings/cells', { params: { query: { ...f, bbox, zoom } as never }, signal })),
    enabled: bbox !== '',
    placeholderData: keepPreviousData,
  })

export const useNeighbourhoods = (geometry: boolean) =>
  useQuery({
    queryKey: ['neighbourhoods', geometry],
    queryFn: () => answer(api.GET('/neighbourhoods', { params: { query: { geometry } } })),
    staleTime: 60 * tick,
  })

export const useLetterGroups = (f: Filters) =>
  useQuery({
    queryKey: ['letters', 'groups', f],
    queryFn: () => answer(api.GET('/dead-letters/groups', { params: { query: f as never } })),
  })

export const discardLetters = (body: Schemas['ReplayLetters']) => answer(api.POST('/dead-letters/discard', { body }))

export const useCycles = (name: string) =>
  useInfiniteQuery({
    queryKey: ['platforms', name, 'cycles'],
    queryFn: ({ pageParam }) =>
      answer(
        api.GET('/platforms/{name}/cycles', {
          params: { path: { name }, query: { limit: 30, before: pageParam || undefined } },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (p) => p.next_before,
    refetchInterval: every(6),
  })

export const putSearch = (s: { name: string; search: string; body: Schemas['PlatformSearchPut'] }) =>
  answer(
    api.PUT('/platforms/{name}/searches/{search}', {
      params: { path: { name: s.name, search: s.search } },
      body: s.body,
    }),
  )

/** addSearch is putSearch that changes none: where there is one of that name the API refuses it. */
export const addSearch = (s: Parameters<typeof putSearch>[0]) =>
  answer(
    api.PUT('/platforms/{name}/searches/{search}', {
      params: { path: { name: s.name, search: s.search }, header: { 'If-None-Match': '*' } },
      body: s.body,
    }),
  )

export const removeSearch = (s: { name: string; search: string }) =>
  answer(api.DELETE('/platforms/{name}/searches/{search}', { params: { path: { name: s.name, search: s.search } } }))

// Of these filters of a search several values are given one by one.
const searchLists = ['site', 'lang', 'type']

const searchQuery = (f: Filters) =>
  Object.fromEntries(Object.entries(f).map(([name, v]) => [name, searchLists.includes(name) ? v.split(',') : v]))

export const useSearch = (f: Filters) =>
  useInfiniteQuery({
    queryKey: ['search', f],
    queryFn: ({ pageParam, signal }) =>
      answer(
        api.GET('/search', {
          params: {
            query: { ...searchQuery(f), facets: pageParam === '', limit: 20, after: pageParam || undefined } as never,
          },
          signal,
        }),
      ),
    initialPageParam: first,
    getNextPageParam: (p) => p.next || undefined,
    enabled: !!f.q,
    placeholderData: keepPreviousData,
  })

/** useOthers counts what a search would find without one of its filters, by the values that this could have. */
export const useOthers = (f: Filters, ...without: string[]) =>
  useQuery({
    queryKey: ['search', 'others', without[0], f],
    queryFn: async ({ signal }) => {
      const rest = Object.fromEntries(Object.entries(f).filter(([name]) => !without.includes(name)))
      return (
        await answer(
          api.GET('/search', { params: { query: { ...searchQuery(rest), facets: true, limit: 1 } as never }, signal }),
        )
      ).facets!
    },
    enabled: !!f.q && without.some((name) => !!f[name]),
    placeholderData: keepPreviousData,
  })

/** useSuggestions are words that the last one of a query may be; none are asked for of ''. */
export const useSuggestions = (q: string) =>
  useQuery({
    queryKey: ['suggest', q],
    queryFn: async ({ signal }) =>
      (await answer(api.GET('/search/suggest', { params: { query: { q, limit: 8 } }, signal }))).suggestions,
    enabled: q !== '',
    staleTime: 12 * tick,
    placeholderData: keepPreviousData,
    retry: false,
  })

export const useSearchStats = () =>
  useQuery({ queryKey: ['search-stats'], queryFn: () => answer(api.GET('/search/stats')), refetchInterval: every(6) })

export const usePage = (id: number, q?: string) =>
  useQuery({
    queryKey: ['page', id, q],
    queryFn: () => answer(api.GET('/pages/{id}', { params: { path: { id }, query: { text: true, q } as never } })),
  })

const mostTenants = 1000 // of which one is chosen from a list; where there are more, its ID is typed

/** readTenants are all tenants; more tells that there are others. */
export const readTenants = (signal?: AbortSignal) =>
  readTo(mostTenants, (c) => answer(api.GET('/tenants', { params: { query: query({}, c, 200) }, signal })))

/** useTenants are those that a caller may choose from; a key of a tenant may list none. */
export function useTenants() {
  const own = useSession().data?.caller?.tenant
  return useQuery({
    queryKey: ['tenants'],
    queryFn: ({ signal }) => readTenants(signal),
    enabled: !own,
    staleTime: 12 * tick,
    retry: false,
  })
}

/** useTenantList are the tenants page by page, with what each may have. */
export const useTenantList = () =>
  useList('tenants', {}, (c) => answer(api.GET('/tenants', { params: { query: query({}, c) } })))

export const useUploads = (f: Filters) =>
  useList('uploads', f, (c) => answer(api.GET('/uploads', { params: { query: query(f, c) } })))

export function useUpload(tenant: string, id: string) {
  useTopic('upload:' + id)
  return useQuery({
    queryKey: ['upload', tenant, id],
    queryFn: () =>
      answer(
        api.GET('/uploads/{upload}', {
          params: { path: { upload: id }, query: ofTenant(tenant) },
        }),
      ),
    refetchInterval: (q) => {
      if (isRefused(q.state.error) || ['done', 'failed', 'canceled', 'held'].includes(q.state.data?.state ?? ''))
        return false
      return isTold('upload:' + id) ? tick : 1_000 // its pace falls, too, when nothing of it changes
    },
  })
}

export const usePreview = (tenant: string, id: string, wanted: boolean) =>
  useQuery({
    queryKey: ['preview', tenant, id],
    queryFn: () =>
      answer(
        api.GET('/uploads/{upload}/preview', {
          params: { path: { upload: id }, query: ofTenant(tenant) },
        }),
      ),
    enabled: wanted,
  })

/** useRefusals reads the rows of an upload that were refused, values masked; left out while it has none. */
export const useRefusals = (tenant: string, id: string, code: string, wanted: boolean) =>
  useInfiniteQuery({
    queryKey: ['refusals', tenant, id, code],
    queryFn: async ({ pageParam }) => {
      const p = await answer(
        api.GET('/uploads/{upload}/refusals', {
          params: {
            path: { upload: id },
            query: { tenant: tenant || undefined, code: code || undefined, after: pageParam, limit: 100 } as never,
          },
        }),
      )
      return { items: p.items, next_cursor: p.next ? String(p.next) : undefined, next: p.next }
    },
    initialPageParam: 0,
    getNextPageParam: (p) => p.next || undefined,
    refetchInterval: (q) => (!isTold('upload:' + id) && isCurrent(q.state) ? 2 * tick : false),
    enabled: wanted,
  })

export const useRefusalReasons = (tenant: string, id: string, rows: number) =>
  useQuery({
    queryKey: ['refusal-reasons', tenant, id, rows],
    queryFn: () =>
      answer(
        api.GET('/uploads/{upload}/refusals/reasons', {
          params: { path: { upload: id }, query: ofTenant(tenant) },
        }),
      ),
    enabled: rows > 0,
    placeholderData: keepPreviousData,
  })

export const orderUpload = (u: { tenant: string; id: string; order: 'start' | 'cancel' }) =>
  answer(
    api.POST(`/uploads/{upload}/${u.order}` as const, {
      params: { path: { upload: u.id }, query: ofTenant(u.tenant) },
    }),
  )

/** asked reports whether a webhook of a search has yet to confirm that it wants news. */
const asked = (s: Schemas['SavedSearch']) => s.targets.some((to) => to.kind === 'webhook' && to.state === 'unconfirmed')

export const useSavedSearches = (tenant: string, known: boolean) =>
  useInfiniteQuery({
    queryKey: ['saved-searches', tenant],
    queryFn: ({ pageParam }) => answer(api.GET('/searches', { params: { query: query({ tenant }, pageParam) } })),
    ...byCursor,
    // Nothing tells that a webhook has answered.
    refetchInterval: (q) =>
      !isRefused(q.state.error) && q.state.data?.pages.some((p) => p.items.some(asked)) ? tick : false,
    enabled: known,
  })

/** useSavedSearch is one of them, for a list of which it is not read yet. */
export const useSavedSearch = (tenant: string, id: string, wanted: boolean) =>
  useQuery({
    queryKey: ['saved-searches', tenant, id],
    queryFn: () => answer(api.GET('/searches/{search}', { params: ofSaved({ tenant, id }) })),
    enabled: wanted,
  })

export const changeSavedSearch = (s: { tenant: string; id: string; patch: Schemas['SearchPatch'] }) =>
  answer(
    api.PATCH('/searches/{search}', {
      params: { path: { search: s.id }, query: ofTenant(s.tenant) },
      body: s.patch,
    }),
  )

const ofSaved = (s: { tenant: string; id: string }) => ({
  path: { search: s.id },
  query: ofTenant(s.tenant),
})

export const saveSearch = (s: { tenant: string; search: Schemas['SearchStart'] }) =>
  answer(api.POST('/searches', { params: { query: ofTenant(s.tenant) }, body: s.search }))

export const deleteSavedSearch = (s: { tenant: string; id: string }) =>
  answer(api.DELETE('/searches/{search}', { params: ofSaved(s) }))

interface Target {
  tenant: string
  id: string
  target: string
}

const ofTarget = (t: Target) => ({ ...ofSaved(t), path: { search: t.id, target: t.target } })

export const deleteTarget = (t: Target) =>
  answer(api.DELETE('/searches/{search}/targets/{target}', { params: ofTarget(t) }))

export const challengeTarget = (t: Target) =>
  answer(api.POST('/searches/{search}/targets/{target}/challenge', { params: ofTarget(t) }))

export const rotateTarget = ({ overlap, ...t }: Target & { overlap: number }) =>
  answer(
    api.POST('/searches/{search}/targets/{target}/rotate', {
      params: { ...ofTarget(t), query: { ...ofTenant(t.tenant), overlap_hours: overlap } },
    }),
  )

export const useSearchMatches = (tenant: string, id: string) =>
  useInfiniteQuery({
    queryKey: ['search-matches', tenant, id],
    queryFn: ({ pageParam }) =>
      answer(
        api.GET('/searches/{search}/matches', {
          params: { path: { search: id }, query: query({ tenant }, pageParam) },
        }),
      ),
    ...byCursor,
    refetchInterval: (q) => (isCurrent(q.state) ? 2 * tick : false),
  })

/** trySavedSearch asks what a filter would have found in the last week; the homes themselves are not shown. */
export const trySavedSearch = (s: { tenant: string; filter: Schemas['Criteria'] }) =>
  answer(
    api.POST('/searches/try', {
      params: { query: ofTenant(s.tenant) },
      body: { filter: s.filter, limit: 1 },
    }),
  )

export const useDeliveries = (tenant: string, id: string, state: string | undefined) =>
  useInfiniteQuery({
    queryKey: ['deliveries', tenant, id, state],
    queryFn: ({ pageParam }) =>
      answer(
        api.GET('/searches/{search}/deliveries', {
          params: { path: { search: id }, query: query({ tenant, state: state ?? '' }, pageParam) },
        }),
      ),
    ...byCursor,
    refetchInterval: (q) => (isCurrent(q.state) ? 2 * tick : false),
    placeholderData: keepPreviousData,
  })

export const useCampaigns = (f: Filters, known = true) =>
  useList('campaigns', f, (c) => answer(api.GET('/campaigns', { params: { query: query(f, c) } })), known)

export function useCampaign(tenant: string, id: string) {
  useTopic('campaign:' + id)
  return useQuery({
    queryKey: ['campaign', tenant, id],
    queryFn: () => answer(api.GET('/campaigns/{id}', { params: { path: { id }, query: ofTenant(tenant) } })),
    refetchInterval: (q) => {
      if (isTold('campaign:' + id)) return 2 * tick
      return ['running', 'queued'].includes(q.state.data?.state ?? '') ? 1_000 : 2 * tick
    },
  })
}

/** noCampaign stands for the ID of a campaign where messages of none are meant: those to one person. */
export const noCampaign = 'none'

/** useMessages reads the messages of a campaign, or of none; nothing is asked for while that is not known (''). */
export const useMessages = (tenant: string, id: string, f: Filters) =>
  useInfiniteQuery({
    queryKey: ['messages', tenant, id, f],
    queryFn: ({ pageParam }) => {
      const which = query({ ...f, tenant }, pageParam)
      if (id === noCampaign) return answer(api.GET('/messages', { params: { query: which } }))
      return answer(api.GET('/campaigns/{id}/messages', { params: { path: { id }, query: which } }))
    },
    ...byCursor,
    refetchInterval: (q) => (!isTold('campaign:' + id) && isCurrent(q.state) ? 2 * tick : false),
    placeholderData: keepPreviousData,
    enabled: id !== '',
  })

/** messagePace is how often a message is asked for while its state may change: seldom once nothing happened for a minute. */
export function messagePace(m: { state: string; timeline: { at: string }[] }, now = Date.now()) {
  if (!['queued', 'sending', 'sent'].includes(m.state)) return false
  const last = Math.max(...m.timeline.map((e) => Date.parse(e.at)))
  return now - last < 60_000 ? 2_000 : 2 * tick
}

export const useMessage = (tenant: string, id: string) =>
  useQuery({
    queryKey: ['message', tenant, id],
    queryFn: () => answer(api.GET('/messages/{id}', { params: { path: { id }, query: ofTenant(tenant) } })),
    refetchInterval: (q) => (q.state.data ? messagePace(q.state.data) : false),
  })

export const retryMessage = (m: { tenant: string; id: string }) =>
  answer(api.POST('/messages/{id}/retry', { params: { path: { id: m.id }, query: ofTenant(m.tenant) } }))

/** showRecipient asks for the whole number of a message, which the audit notes. */
export const showRecipient = (m: { tenant: string; id: string }) =>
  answer(api.POST('/messages/{id}/recipient', { params: { path: { id: m.id }, query: ofTenant(m.tenant) } }))

/** useAudience is whom a campaign would be sent to now. */
export const useAudience = (tenant: string, id: string) =>
  useQuery({
    queryKey: ['campaign-audience', tenant, id],
    queryFn: () => answer(api.GET('/campaigns/{id}/audience', { params: { path: { id }, query: ofTenant(tenant) } })),
    staleTime: 0,
    gcTime: 0, // the dialog that shows it asks anew
  })

export const useCampaignErrors = (tenant: string, id: string, failed: number) =>
  useQuery({
    queryKey: ['campaign-errors', tenant, id, failed],
    queryFn: () => answer(api.GET('/campaigns/{id}/errors', { params: { path: { id }, query: ofTenant(tenant) } })),
    enabled: failed > 0,
    placeholderData: keepPreviousData,
  })

/** sharesPace is how often the shares are asked for: callers of a tenant may not see those of others. */
export const sharesPace = (error: unknown) => (isRefused(error) ? false : 2_000)

export const useShares = (wanted: boolean) =>
  useQuery({
    queryKey: ['shares'],
    queryFn: () => answer(api.GET('/campaigns/shares')),
    refetchInterval: (q) => sharesPace(q.state.error),
    enabled: wanted,
    retry: false, // keys of a tenant may not see others
  })

export const useSenders = (tenant: string, wanted: boolean) =>
  useQuery({
    queryKey: ['senders', tenant],
    queryFn: () => answer(api.GET('/senders', { params: { query: ofTenant(tenant) } })),
    enabled: wanted,
  })

export const useContactLists = (tenant: string, wanted: boolean) =>
  useQuery({
    queryKey: ['contact-lists', tenant],
    queryFn: () => answer(api.GET('/contact-lists', { params: { query: ofTenant(tenant) } })),
    enabled: wanted,
  })

export const useSegments = (tenant: string, wanted: boolean) =>
  useQuery({
    queryKey: ['segments', tenant],
    queryFn: () => answer(api.GET('/segments', { params: { query: ofTenant(tenant) } })),
    enabled: wanted,
  })

export const createCampaign = (c: { tenant: string; plan: Schemas['CampaignPlan'] }, key: string) =>
  answer(
    api.POST('/campaigns', {
      params: { query: ofTenant(c.tenant), header: { 'Idempotency-Key': key } },
      body: c.plan,
    }),
  )

export const startCampaign = (c: { tenant: string; id: string; at?: string }) =>
  answer(
    api.POST('/campaigns/{id}/start', {
      params: { path: { id: c.id }, query: ofTenant(c.tenant) },
      body: { at: c.at },
    }),
  )

export const retryFailed = (c: { tenant: string; id: string }) =>
  answer(api.POST('/campaigns/{id}/retry-failed', { params: { path: { id: c.id }, query: ofTenant(c.tenant) } }))

export const orderCampaign = (o: {
  tenant: string
  id: string
  order: 'pause' | 'resume' | 'cancel' | 'unschedule'
  reason?: string
}) =>
  answer(
    api.POST(`/campaigns/{id}/${o.order}` as const, {
      params: { path: { id: o.id }, query: ofTenant(o.tenant) },
      body: o.reason ? { reason: o.reason } : {},
    }),
  )
