// The calls of crawl runs: one hook each, as in queries.ts.

import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'

import { api, type Schemas } from './client'
import { answer } from './problem'
import { every, query, useList, type Filters } from './queries'
import { isTold, useTopic } from './stream'

const tick = 5_000 // ms

export const useRuns = (f: Filters) =>
  useList('runs', f, (c) => answer(api.GET('/crawl-runs', { params: { query: query(f, c) } })))

export function useRun(id: number) {
  useTopic(`run:${id}`)
  return useQuery({
    queryKey: ['run', id],
    queryFn: () => answer(api.GET('/crawl-runs/{id}/summary', { params: { path: { id } } })),
    refetchInterval: (q) => (q.state.data?.status === 'RUNNING' && !isTold(`run:${id}`) ? 1_000 : 2 * tick),
  })
}

export const useWhy = (id: number) =>
  useQuery({
    queryKey: ['why', id],
    queryFn: () => answer(api.GET('/crawl-runs/{id}/why', { params: { path: { id } } })),
    refetchInterval: every(),
  })

export const useBrokenLinks = (id: number) =>
  useQuery({
    queryKey: ['broken', id],
    queryFn: () =>
      answer(
        api.GET('/crawl-runs/{id}/broken-links', { params: { path: { id }, query: { limit: 10 } as never } }),
      ) as Promise<Schemas['CrawlBrokenLinks']>,
    refetchInterval: every(6),
  })

/** useRunURL is one URL with its way from the seed and its links; nothing is asked while url is 0. */
export const useRunURL = (id: number, url: number) =>
  useQuery({
    queryKey: ['run-url', id, url],
    queryFn: () => answer(api.GET('/crawl-runs/{id}/urls/{url}', { params: { path: { id, url } } })),
    enabled: url > 0,
    refetchInterval: (q) => (['QUEUED', 'IN_PROGRESS'].includes(q.state.data?.status ?? '') ? tick : false),
  })

/** urlChunk is how many URLs of a run one request reads. */
export const urlChunk = 200

/** useRunURLs reads chunks of a run's URLs, by their numbers. row gives the URL of a place once it is there. */
export function useRunURLs(
  id: number,
  f: { status: string; host: string; q: string },
  chunks: number[],
  live: boolean,
) {
  const read = useQueries({
    queries: chunks.map((chunk) => ({
      queryKey: ['urls', id, f, chunk],
      queryFn: ({ signal }) =>
        answer(
          api.GET('/crawl-runs/{id}/urls', {
            signal,
            params: {
              path: { id },
              query: {
                ...Object.fromEntries(Object.entries(f).filter(([, v]) => v !== '')),
                limit: urlChunk,
                offset: chunk * urlChunk,
              } as never,
            },
          }),
        ),
      refetchInterval: live ? tick : (false as const),
    })),
  })
  const page = read.find((r) => r.data)?.data?.pagination
  return {
    total: page?.total,
    exact: page?.total_exact,
    error: read.find((r) => r.error)?.error,
    again: () => read.forEach((r) => void r.refetch()),
    row: (at: number) => read[chunks.indexOf(Math.floor(at / urlChunk))]?.data?.urls[at % urlChunk],
  }
}

export const useRunRate = (id: number, seconds: number, live: boolean) =>
  useQuery({
    queryKey: ['run-rate', id, seconds],
    queryFn: () =>
      answer(api.GET('/crawl-runs/{id}/rate', { params: { path: { id }, query: { window: `${seconds}s` } as never } })),
    refetchInterval: live ? 2 * tick : false,
    placeholderData: keepPreviousData,
  })

/** useComparison compares two runs; nothing is asked before both are known. */
export const useComparison = (a: number, b: number) =>
  useQuery({
    queryKey: ['compare', a, b],
    queryFn: () => answer(api.GET('/crawl-runs/compare', { params: { query: { a, b, limit: 1000 } as never } })),
    enabled: a > 0 && b > 0,
    placeholderData: keepPreviousData,
  })

export const startRun = (body: Schemas['CrawlStart'], key: string) =>
  answer(api.POST('/crawl-runs', { params: { header: { 'Idempotency-Key': key } }, body }))

export const orderRun = (r: { id: number; order: 'pause' | 'resume' | 'cancel' }) =>
  answer(api.POST(`/crawl-runs/{id}/${r.order}` as const, { params: { path: { id: r.id } } }))

/** retryRun has URLs of a run requested again that failed: those of states, and of urls where it is given. */
export const retryRun = ({ id, ...body }: { id: number } & Schemas['CrawlRetry']) =>
  answer(api.POST('/crawl-runs/{id}/retry', { params: { path: { id } }, body }))
