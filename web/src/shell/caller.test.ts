import { QueryCache, QueryClient, QueryObserver } from '@tanstack/react-query'
import { expect, test, vi } from 'vitest'

import { called } from './caller'

test('another caller, whichever tab let them in, is shown nothing of the one before', async () => {
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({
      onSuccess: (data, q) => q.queryKey[0] === 'session' && called(client, data as never),
    }),
  })
  const session = (caller?: { name: string; role: string; tenant?: string }) =>
    client.fetchQuery({ queryKey: ['session'], queryFn: () => ({ locked: true, caller }), staleTime: 0 })
  const kept = () => client.getQueryData(['letters'])
  const read = () => client.setQueryData(['letters'], 'of the one before')
  await session({ name: 'anne', role: 'admin' })
  read()
  await session({ name: 'anne', role: 'admin' })
  await session() // the session has ended: the same person may log in again
  await session({ name: 'anne', role: 'admin' })
  expect(kept()).toBe('of the one before')

  await session({ name: 'bob', role: 'read' })
  expect(kept()).toBeUndefined()
  expect(client.getQueryData(['session'])).toMatchObject({ caller: { name: 'bob' } })
  for (const other of [
    { name: 'bob', role: 'operate' },
    { name: 'bob', role: 'operate', tenant: 'x' },
    { name: 'bob', role: 'operate', tenant: 'y' },
  ]) {
    read()
    await session(other)
    expect(kept()).toBeUndefined()
  }

  // What is on view is asked for again, and its data is gone before anything is drawn.
  read()
  const shown = new QueryObserver(client, { queryKey: ['letters'], queryFn: () => 'of now', staleTime: Infinity })
  const drawn: unknown[] = []
  const end = shown.subscribe((r) => drawn.push(r.data))
  await session({ name: 'carl', role: 'read' })
  await vi.waitFor(() => expect(drawn.at(-1)).toBe('of now'))
  expect(drawn).not.toContain('of the one before')
  end()
})
