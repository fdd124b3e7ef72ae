// Apart from queries.ts, as the worker that draws a run reads this, and needs nothing of React.

import { api } from './client'
import { answer } from './problem'

/** readLineage reads the URLs of a run that are new or changed since an earlier answer; "" = all. */
export const readLineage = (id: number, after: string) =>
  answer(
    api.GET('/crawl-runs/{id}/lineage', { params: { path: { id }, query: { after: after || undefined } as never } }),
  )
