import { InfiniteQueryObserver, QueryClient } from '@tanstack/react-query'
import { expect, test } from 'vitest'

import { Problem } from '../api/problem'
import { readsOn, wantsMore } from './readOn'

test('a next page that is refused is asked for once, and again when the list was read again', async () => {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, networkMode: 'always' } } })
  let asked = 0 // for the second page
  let refuses = true
  const list = new InfiniteQueryObserver(client, {
    queryKey: ['list'],
    queryFn: ({ pageParam }) => {
      if (pageParam === 2) asked++
      if (pageParam === 2 && refuses) throw new Problem(401, 'Unauthorized', '')
      return pageParam
    },
    initialPageParam: 1,
    getNextPageParam: (page) => (page < 2 ? page + 1 : undefined),
  })
  const until = (what: () => boolean) =>
    new Promise<void>((met) => {
      const end = list.subscribe(() => {
        if (asked < 5 && wantsMore(list.getCurrentResult())) void list.fetchNextPage()
        if (!what()) return
        end()
        met()
      })
    })
  await until(() => asked === 5 || list.getCurrentResult().isFetchNextPageError)
  expect(asked).toBe(1)
  refuses = false
  const read = until(() => !list.getCurrentResult().hasNextPage)
  await list.refetch()
  await read
  expect(asked).toBe(2)
})

test('choices are read on where there are more of them', () => {
  let asked = 0
  const fetchNextPage = () => asked++
  expect(readsOn({ hasNextPage: false, fetchNextPage })).toBeUndefined()
  readsOn({ hasNextPage: true, fetchNextPage })!()
  expect(asked).toBe(1)
})
