import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { startRun } from '../api/crawl'
import { useMake } from '../api/once'
import { Problem } from '../api/problem'
import { useSay } from '../say/Say'
import { Do } from '../ui/Do'
import { Options, Trouble } from '../ui/parts'

type Settings = Schemas['CrawlConfig']

// The defaults of the API, which its own settings may change: a setting that is not touched is left out.
const numbers: { name: keyof Settings; value: number; least: number; most: number }[] = [
  { name: 'maxPages', value: 5000, least: 1, most: 5_000_000 },
  { name: 'maxDepth', value: 25, least: 0, most: 1000 },
  { name: 'shards', value: 4, least: 1, most: 64 },
  { name: 'requestTimeoutMs', value: 5000, least: 100, most: 120_000 },
  { name: 'maxRetries', value: 2, least: 0, most: 20 },
  { name: 'demoDelayMs', value: 0, least: 0, most: 60_000 },
]
const flags: { name: keyof Settings; value: boolean }[] = [
  { name: 'respectRobots', value: true },
  { name: 'followRedirects', value: true },
  { name: 'publish', value: true },
  { name: 'useSitemaps', value: false },
  { name: 'includeDocuments', value: false },
  { name: 'followLinkRel', value: false },
  { name: 'nofollow', value: false },
  { name: 'render', value: false },
  { name: 'storeBodies', value: false },
  { name: 'skipRecent', value: false },
  { name: 'conditional', value: false },
]
const scopes = ['same_host', 'same_domain', 'prefix']

/** Start is the form that starts a crawl. What the API refuses stands beside its field. */
export function Start() {
  const { say } = useSay()
  const t = say.run
  const navigate = useNavigate()
  const start = useMake(startRun, 'runs')
  const [seed, setSeed] = useState('')
  const [settings, setSettings] = useState<Record<string, number | boolean | string>>({})
  const set = (name: string, value: number | boolean | string) => setSettings((was) => ({ ...was, [name]: value }))
  const problem = start.error ? Problem.of(start.error) : undefined
  const wrong = (name: string) => {
    const at = (location: string | undefined) => location?.split('.').at(-1) === name
    const field = problem?.fields.find((f) => at(f.location))
    if (field) return <small role="alert">{field.message}</small>
    // Settings that exclude each other are refused by name, in the detail.
    if (problem?.detail.includes(`settings.${name}:`)) return <small role="alert">{problem.detail}</small>
  }
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault()
        start.mutate(
          { seedUrl: seed, settings: settings as Schemas['CrawlStart']['settings'] },
          { onSuccess: (r) => void navigate({ to: `/crawl/${r.id}` as '/' }) },
        )
      }}
    >
      <div className="filters">
        <label>
          {t.seed}
          <input
            className="in m"
            type="url"
            required
            size={48}
            maxLength={2000}
            placeholder="https://"
            value={seed}
            onChange={(e) => setSeed(e.target.value)}
          />
          {wrong('seedUrl')}
        </label>
        <Do className="btn p" type="submit" disabled={start.isPending}>
          {t.newOne}
        </Do>
      </div>
      <details>
        <summary>{t.settings}</summary>
        <div className="settings">
          {numbers.map((n) => (
            <label key={n.name}>
              <input
                className="in"
                type="number"
                required
                min={n.least}
                max={n.most}
                value={String(settings[n.name] ?? n.value)}
                onChange={(e) => set(n.name, e.target.value === '' ? '' : Number(e.target.value))}
              />{' '}
              {t.names[n.name]}
              {wrong(n.name)}
            </label>
          ))}
          <label>
            <select
              className="in"
              value={String(settings.scopeMode ?? scopes[0])}
              onChange={(e) => set('scopeMode', e.target.value)}
            >
              <Options of={scopes.map((s) => [s, t.scopes[s]])} />
            </select>{' '}
            {t.names.scopeMode}
            {wrong('scopeMode')}
          </label>
          {flags.map((f) => (
            <label key={f.name}>
              <input
                type="checkbox"
                checked={Boolean(settings[f.name] ?? f.value)}
                onChange={(e) => set(f.name, e.target.checked)}
              />{' '}
              {t.names[f.name]}
              {wrong(f.name)}
            </label>
          ))}
        </div>
      </details>
      <Trouble error={start.error} />
    </form>
  )
}
