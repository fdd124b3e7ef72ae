import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import type { Schemas } from './api/client'
import { mayPass, Problem } from './api/problem'
import { useSession } from './api/queries'
import './fonts.css'
import './tokens.css'
import './base.css'
import { router } from './router'
import { ready, Say } from './say/Say'
import { called } from './shell/caller'
import { refused } from './shell/refused'

const onError = (error: unknown) => refused(Problem.of(error))

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError,
    onSuccess: (data, q) => q.queryKey[0] === 'session' && called(client, data as Schemas['Session']),
  }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    // The API may be on this machine, so that a browser that is offline knows nothing of it. What cannot be sent is an error
    // at once: a change that waited for the network would be made when nobody looks any more.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // What the API refuses it refuses again; only what did not answer, or asks for patience, is tried again.
      retry: (n, error) => n < 2 && mayPass(error),
      retryDelay: (n, error) => 1000 * (Problem.of(error).retryAfter ?? 2 ** n),
    },
  },
})

function Console() {
  const zone = useSession().data?.time_zone ?? 'America/Toronto'
  return (
    <Say home={zone}>
      <RouterProvider router={router} />
    </Say>
  )
}

void ready().then(() =>
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Console />
      </QueryClientProvider>
    </StrictMode>,
  ),
)
