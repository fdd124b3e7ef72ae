import type { Schemas } from '../api/client'
import type { Sentences } from '../say/Say'
import type { State } from '../ui/Glyph'

export type Status = Schemas['CrawlURL']['status']

/** How each state of a URL looks: its sign, its colour, and the counter that it has in the totals of a run. */
export const looks: Record<Status, { glyph: State; colour: string; counter: keyof Sentences['run']['counters'] }> = {
  VISITED: { glyph: 'done', colour: 'var(--verdg)', counter: 'visited' },
  IN_PROGRESS: { glyph: 'changed', colour: 'var(--ochrg)', counter: 'in_progress' },
  QUEUED: { glyph: 'idle', colour: 'var(--rule2)', counter: 'queued' },
  REDIRECT_301: { glyph: 'twin', colour: 'var(--blue)', counter: 'redirect_301' },
  NOT_FOUND: { glyph: 'failed', colour: 'var(--vermg)', counter: 'not_found' },
  FORBIDDEN: { glyph: 'failed', colour: 'var(--vermg)', counter: 'forbidden' },
  HTTP_TERMINAL: { glyph: 'failed', colour: 'var(--vermg)', counter: 'http_terminal' },
  FAILED: { glyph: 'failed', colour: 'var(--vermg)', counter: 'failed' },
  SKIPPED: { glyph: 'idle', colour: 'var(--ink3)', counter: 'skipped' },
}

export const statuses = Object.keys(looks) as Status[]

export const broken: Status[] = ['NOT_FOUND', 'FORBIDDEN', 'HTTP_TERMINAL', 'FAILED']

/** pathOf is an address without its host, for a line that is short. */
export const pathOf = (address: string) => address.replace(/^https?:\/\/[^/]*/, '') || '/'
