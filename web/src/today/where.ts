import type { Schemas } from '../api/client'

export interface Target {
  to: string
  search?: Record<string, string>
}

/**
 * whereTo is the list behind a station, or what fell off there: where the list can be filtered so, it shows as many rows
 * as the figure says. undefined = there is no list.
 */
export function whereTo(line: Pick<Schemas['FlowLine'], 'line' | 'runs'>, name: string, since: string) {
  const run = line.runs?.length === 1 ? `/crawl/${line.runs[0]}` : undefined
  const lists: Record<string, Record<string, Target | undefined>> = {
    crawl: {
      seed: { to: '/crawl', search: { state: 'RUNNING' } },
      frontier: run ? { to: run, search: { status: 'QUEUED' } } : { to: '/crawl', search: { state: 'RUNNING' } },
      fetching: run ? { to: run, search: { status: 'IN_PROGRESS' } } : { to: '/crawl', search: { state: 'RUNNING' } },
      read: { to: '/crawl' },
      broken: { to: '/crawl' },
      crawler_queue: { to: '/queues' },
      searchable: { to: '/search' },
    },
    drafts: {
      requested: { to: '/drafts/requests', search: { since } },
      waiting: { to: '/drafts/requests', search: { state: 'pending' } },
      chromium: { to: '/drafts/requests', search: { state: 'pending' } },
      draft_stored: { to: '/drafts', search: { outcome: 'succeeded', since } },
      failed: { to: '/drafts', search: { outcome: 'failed', since } },
    },
    outreach: {
      uploaded: { to: '/uploads' },
      valid: { to: '/uploads' },
      invalid: { to: '/uploads' },
      contacts: { to: '/contacts' },
      scheduled: { to: '/campaigns' },
      dispatched: { to: '/messages' },
      failed: { to: '/messages', search: { state: 'failed' } },
      delivered: { to: '/messages', search: { state: 'delivered' } },
      read: { to: '/messages', search: { state: 'read' } },
    },
  }
  return lists[line.line]?.[name]
}
