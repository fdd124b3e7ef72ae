import { memo, useState } from 'react'

import type { Schemas } from '../api/client'
import { orderPlatform, useDo, type Filters } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from './Age'
import { Do } from './Do'
import { Glyph } from './Glyph'
import { LettersBulk } from './LettersBulk'
import './lists.css'
import { Trouble } from './parts'
import { ToPage } from './ToPage'

type Concern = Schemas['Concern']

/** where is the page on what a concern is about. */
export function where(c: Pick<Concern, 'code' | 'subject' | 'filter'>): { to: string; search?: Filters } {
  if (c.code === 'dead_letters_open') return { to: '/dead-letters', search: c.filter }
  if (c.code.startsWith('platform_')) return { to: `/platforms/${encodeURIComponent(c.subject)}` }
  if (c.code === 'crawl_stalled') return { to: c.subject ? `/crawl/${encodeURIComponent(c.subject)}` : '/crawl' }
  if (c.code.startsWith('imports_')) return { to: '/uploads' }
  if (c.code.startsWith('messages_')) return { to: '/campaigns' }
  if (c.code.startsWith('queue_')) return { to: '/queues', search: { kind: 'rabbitmq', queue: c.subject } }
  return { to: '/queues' }
}

/** Warnings are what needs a person, each with the page that shows it and the button that helps. */
export const Warnings = memo(function Warnings({ concerns, most = Infinity }: { concerns: Concern[]; most?: number }) {
  const { say } = useSay()
  const [replaying, setReplaying] = useState<Filters>()
  if (concerns.length === 0 && !replaying) return <p className="empty">{say.today.nothingNeeds}</p>
  return (
    <>
      <ul className="todo">
        {concerns.slice(0, most).map((c) => (
          <One key={c.code + c.subject + JSON.stringify(c.filter)} concern={c} onReplay={setReplaying} />
        ))}
      </ul>
      {replaying && <LettersBulk what="replay" filters={replaying} onClose={() => setReplaying(undefined)} />}
    </>
  )
})

function One({ concern: c, onReplay }: { concern: Concern; onReplay: (f: Filters) => void }) {
  const { say, language } = useSay()
  const order = useDo(orderPlatform, 'platforms', 'queues')
  const { to, search } = where(c)
  const refuses = c.code === 'platform_suspect' || c.code === 'platform_blocked'
  return (
    <li>
      <Glyph state={c.severity} />
      <p>
        <bdi lang="en">
          <Subject text={c.text} subject={c.subject} />
        </bdi>
        {c.since && (
          <>
            <br />
            <span className="mu">
              <Age at={c.since} />
            </span>
          </>
        )}
        <Trouble error={order.error} />
      </p>
      <span className="btns">
        <ToPage className="btn" to={to} search={search ?? {}} aria-label={`${say.look}: ${c.text}`}>
          {say.look}
        </ToPage>
        {c.code === 'dead_letters_open' && (
          <Do className="btn p" onClick={() => onReplay(c.filter ?? {})}>
            {say.letter.replayN(count(c.count, language))}…
          </Do>
        )}
        {refuses && (
          <Do disabled={order.isPending} onClick={() => order.mutate({ name: c.subject, order: 'pause' })}>
            {say.pause}
          </Do>
        )}
      </span>
    </li>
  )
}

/** Subject writes what a text is about in bold where the text names it. */
function Subject({ text, subject }: { text: string; subject: string }) {
  const at = subject ? text.indexOf(subject) : -1
  if (at < 0) return <>{text}</>
  return (
    <>
      {text.slice(0, at)}
      <b>{subject}</b>
      {text.slice(at + subject.length)}
    </>
  )
}
