import type { Schemas } from '../api/client'

export interface Step {
  name: 'total' | 'sent' | 'delivered' | 'read' | 'failed'
  n: number // messages that came at least so far
  share: number // of all, 0 to 1
  of: number // of n, those that came no further
  state?: string // their states, for a list of them
  bad?: boolean
}

/** funnel adds up the counts of a campaign, in each of which a message is once: what was read was delivered and sent. */
export function funnel(c: Schemas['CampaignCounts']): Step[] {
  const share = (n: number) => (c.total > 0 ? n / c.total : 0)
  const delivered = c.delivered + c.read
  const sent = c.sent + delivered
  return [
    { name: 'total', n: c.total, share: share(c.total), of: c.waiting, state: 'queued,sending' },
    { name: 'sent', n: sent, share: share(sent), of: c.sent, state: 'sent' },
    { name: 'delivered', n: delivered, share: share(delivered), of: c.delivered, state: 'delivered' },
    { name: 'read', n: c.read, share: share(c.read), of: c.read, state: 'read' },
    { name: 'failed', n: c.failed, share: share(c.failed), of: c.failed, state: 'failed', bad: true },
  ]
}
