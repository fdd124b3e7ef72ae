// What Today says in English.

import { count, counted, plural } from './format'

const s = plural('en')
const c = counted('en')
const n = (v: number) => count(v, 'en')
const some = (n: number, what: string) => (n === 0 ? '' : `${n === 1 ? 'one' : n} ${s(n, what)}`)
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

export const today = {
  waits: 'What waits where',
  waitsNote: 'RabbitMQ, Temporal, Postgres in one list',
  needs: 'Needs a person',
  nothingNeeds: 'Nothing needs a person.',
  allWarnings: 'All warnings',
  platforms: 'Platforms',
  platformsNote: 'this cycle, a tick a search page',
  refused: 'Refused, and why',
  refusedNote: (n: string, window: string) => `${n} (${window})`,
  twinOf: 'duplicate of a listing',
  justIn: 'Just in',
  hold: 'Hold',
  held: 'Held',
  kinds: {
    new: 'new',
    changed: 'changed',
    back: 'back again',
    archived: 'archived',
    refused: 'refused',
    twin: 'duplicate',
  },
  windows: { '1h': 'last hour', '24h': '24 hours', '7d': '7 days' },
  lines: {
    title: 'The pipeline',
    note: (window: string) => `what passed (${window}), and what fell off`,
    in: (v: number) => `${n(v)} came in`,
    door: 'door',
    unchanged: (v: number) => `${n(v)} unchanged`,
    settled: 'seen again: no workflow, no download',
    normalize: 'normalize',
    dedupe: 'dedupe',
    publish: 'import',
    images: 'images',
    published: 'published',
    refused: 'refused',
    twins: 'duplicates',
    failed: 'failed',
    newChanged: (a: number, b: number) => `${n(a)} new, ${n(b)} changed`,
    afterPage: (d: string) => `${d} after the page`,
    others: 'Crawls, drafts and outreach',
    rest: (v: number) => `${n(v)} others`,
    names: { listings: 'Listings', crawl: 'Crawl', drafts: 'Drafts', outreach: 'Outreach' } as Record<string, string>,
    runs: (n: number, ids: string) => `${s(n, 'run')} ${ids}`,
    tenants: (n: number, c: string) => `${c} ${s(n, 'tenant')}`,
    stations: {
      seed: 'runs now',
      frontier: 'frontier',
      fetching: 'fetching',
      read: 'read',
      crawler_queue: 'crawler_queue',
      stored: 'stored',
      searchable: 'searchable',
      requested: 'requested',
      waiting: 'waiting',
      chromium: 'in Chromium',
      page_read: 'page read',
      draft_stored: 'draft stored',
      uploaded: 'rows uploaded',
      valid: 'valid',
      contacts: 'contacts',
      scheduled: 'campaigns',
      dispatched: 'dispatched',
      delivered: 'delivered',
    } as Record<string, string>,
    off: { broken: 'broken', failed: 'failed', invalid: 'invalid' } as Record<string, string>,
    alt: (all: number, unchanged: number, refused: number, twins: number, fresh: number, changed: number) =>
      `${n(all)} came in: ${n(unchanged)} unchanged, ${n(refused)} refused, ${c(twins, 'duplicate')}, ${n(fresh)} new, ${n(changed)} changed.`,
  },
  sentence: {
    adverts: (n: number, c: string) => `${c} ${s(n, 'advert')}`,
    cameIn: 'came in.',
    nothingIn: (window: string) => `No advert came in (${window}).`,
    unchanged: (_: number, c: string) => `${c} had not changed.`,
    new: (n: number, c: string) => `${c} ${s(n, 'is', 'are')} new`,
    changed: (_: number, c: string) => `${c} changed`,
    twins: (n: number, c: string) => `${c} ${s(n, 'is a duplicate', 'are duplicates')}`,
    withheld: (n: number, c: string) => `${c} ${s(n, 'was', 'were')} withheld`,
    refused: (n: number, c: string) => `${c} ${s(n, 'was', 'were')} refused`,
    and: 'and',
    published: 'What could be published was, ',
    afterPage: ' after its page was read.',
    underWay: (crawls: number, uploads: number) => {
      const each = [some(crawls, 'crawl'), some(uploads, 'upload')].filter(Boolean)
      if (each.length === 0) return 'No crawl or upload is under way.'
      return `${capital(each.join(' and '))} ${s(crawls + uploads, 'is', 'are')} under way.`
    },
    oldest: (d: string) => `Nothing waits longer than ${d}.`,
    idle: 'Nothing waits.',
  },
}
