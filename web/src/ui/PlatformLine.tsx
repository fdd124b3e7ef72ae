import { memo } from 'react'

import type { Schemas } from '../api/client'
import { orderPlatform, useDo } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Glyph, type State } from './Glyph'
import './lists.css'
import { Trouble } from './parts'
import { Do } from './Do'
import { ToPage } from './ToPage'

type Platform = Schemas['Platform']

export const platformGlyph: Record<Platform['state'], State> = {
  disabled: 'idle',
  paused: 'idle',
  blocked: 'look',
  suspect: 'look',
  scraping: 'changed',
  cooling: 'done',
  waiting: 'done',
}

const tag: Partial<Record<Platform['state'], string>> = { scraping: 'v', blocked: 'o', suspect: 'o' }

/**
 * expectedPages is how many search pages this cycle has: as many as hold what the site says that it has, or as the cycle
 * before had; 0 = unknown.
 */
export function expectedPages(p: Pick<Platform, 'settings' | 'current_cycle' | 'last_cycle'>) {
  const c = p.current_cycle
  const held = c?.total && c.pages > 0 && c.seen > 0 ? Math.ceil((c.total * c.pages) / c.seen) : 0
  const known = Math.max(held, p.last_cycle?.pages ?? 0)
  if (known === 0) return 0
  return Math.min(p.settings.max_pages_per_cycle || Infinity, Math.max(c?.pages ?? 0, known))
}

/** PlatformLine is what a scraper does now, in words and as a tick a search page, and what can be done. */
export const PlatformLine = memo(function PlatformLine({ platform: p }: { platform: Platform }) {
  const { say } = useSay()
  const t = say.platform
  const order = useDo(orderPlatform, 'platforms', 'queues')
  const cycle = p.current_cycle ?? p.last_cycle
  const refused = p.state === 'blocked' || p.state === 'suspect'
  return (
    <div className="pl">
      <div className="h">
        <Glyph state={platformGlyph[p.state]} />
        <ToPage to="/platforms/$name" params={{ name: p.name }}>
          <b>{p.name}</b>
        </ToPage>
        <span className={`tag ${tag[p.state] ?? ''}`}>{t.state[p.state]}</span>
        {p.state !== 'disabled' && (
          <span className="btns">
            {p.state === 'paused' ? (
              <Do
                className="btn q"
                disabled={order.isPending}
                onClick={() => order.mutate({ name: p.name, order: 'resume' })}
              >
                {say.resume}
              </Do>
            ) : (
              <Do
                className="btn q"
                disabled={order.isPending}
                onClick={() => order.mutate({ name: p.name, order: 'pause' })}
              >
                {say.pause}
              </Do>
            )}
            <Do
              disabled={order.isPending || p.state === 'scraping'}
              onClick={() => order.mutate({ name: p.name, order: 'scrape' })}
            >
              {refused ? t.askNow : t.scrapeNow}
            </Do>
          </span>
        )}
      </div>
      <Trouble error={order.error} />
      <p lang="en">{p.next}</p>
      {p.current_cycle && <Ticks done={p.current_cycle.pages} of={expectedPages(p)} current />}
      {cycle && <CycleNums cycle={cycle} />}
    </div>
  )
})

/** CycleNums are what a cycle found. */
export function CycleNums({ cycle: c }: { cycle: Schemas['PlatformCycle'] }) {
  const { say, language } = useSay()
  const nums = [
    ['new', c.new],
    ['changed', c.changed],
    ['skipped', c.skipped],
    ['gone', c.gone],
    ['refused', c.rejected],
    ['blocks', c.refusals],
  ] as const
  return (
    <div className="nums">
      {nums.map(([name, n]) => (
        <span key={name}>
          <b>{count(n, language)}</b>
          {say.platform.nums[name](n)}
        </span>
      ))}
    </div>
  )
}

/** ticksOf is how many pages are drawn: of a cycle under way whose number is unknown some follow. */
export const ticksOf = (done: number, of: number, current: boolean) =>
  of > 0 || !current ? Math.max(of, done) : done + 10

/** Ticks are the search pages of a cycle; above 60 each tick stands for several. */
export function Ticks({ done, of, current }: { done: number; of: number; current: boolean }) {
  const { say } = useSay()
  const all = ticksOf(done, of, current)
  if (all === 0) return null
  const n = Math.min(60, all)
  const each = all / n
  return (
    <div className="tick" role="img" aria-label={say.platform.page(done, of > 0 ? String(of) : '')}>
      {Array.from({ length: n }, (_, i) => (
        <i key={i} className={(i + 1) * each <= done ? '' : i * each <= done ? 'now' : 'open'} />
      ))}
    </div>
  )
}
