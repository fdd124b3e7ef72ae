import { useState } from 'react'

import type { Schemas } from '../api/client'
import { setPlatform, useDo } from '../api/queries'
import { useSay } from '../say/Say'
import { Do } from '../ui/Do'
import { Trouble } from '../ui/parts'
import { TransportSelect } from '../ui/TransportSelect'

type Platform = Schemas['Platform']
type Pace = keyof Schemas['PlatformSettings'] & keyof Schemas['SearchSettings']

export const paces: Pace[] = [
  'delay_between_requests_seconds',
  'cooldown_between_cycles_seconds',
  'cycle_target_seconds',
  'look_every_seconds',
  'max_pages_per_cycle',
]

/** topOf is where a slider ends: four times the greater of what is configured and what is in force. */
const topOf = (configured: number, now: number) => Math.max(4 * configured, 4 * now, 4)

/**
 * Settings changes how a site is asked, at run time: its pace beside what is configured, the client that loads pages,
 * and the proxy, which is written and never shown whole. Reset goes back to what is configured, and forgets refusals.
 */
export function Settings({ platform: p }: { platform: Platform }) {
  const { say } = useSay()
  const t = say.platform
  const set = useDo(setPlatform, 'platforms')
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(paces.map((n) => [n, String(p.settings[n])])),
  )
  const [transport, setTransport] = useState(p.transport)
  const [proxy, setProxy] = useState('')
  const changed = paces.filter((n) => values[n] !== '' && values[n] !== String(p.settings[n]))
  const patch: Schemas['PlatformPatch'] = {
    ...Object.fromEntries(changed.map((n) => [n, Number(values[n])])),
    ...(transport !== p.transport && { transport }),
    ...(proxy && { proxy }),
  }
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault()
        set.mutate({ name: p.name, patch }, { onSuccess: () => setProxy('') })
      }}
    >
      <Trouble error={set.error} />
      <div className="paces">
        {paces.map((n) => (
          <label key={n}>
            <span>{t.setting[n]}</span>
            <input
              type="range"
              aria-label={t.setting[n]}
              min="0"
              max={topOf(p.configured[n], p.settings[n])}
              step={n === 'delay_between_requests_seconds' ? 0.5 : 1}
              value={values[n]}
              onChange={(e) => setValues({ ...values, [n]: e.target.value })}
            />
            <input
              className="in"
              type="number"
              step="any"
              min="0"
              value={values[n]}
              onChange={(e) => setValues({ ...values, [n]: e.target.value })}
            />
            <span className={p.settings[n] === p.configured[n] ? 'mu' : 'ochr'}>
              {t.configured(String(p.configured[n]))}
            </span>
          </label>
        ))}
      </div>
      <div className="filters">
        <TransportSelect value={transport} onChange={setTransport} />
        <label>
          {t.proxy}
          <input
            className="in wide"
            type="password"
            autoComplete="off"
            placeholder={p.proxy ?? t.noProxy}
            value={proxy}
            onChange={(e) => setProxy(e.target.value)}
          />
        </label>
        {p.proxy && (
          <Do type="button" disabled={set.isPending} onClick={() => set.mutate({ name: p.name, patch: { proxy: '' } })}>
            {t.dropProxy}
          </Do>
        )}
      </div>
      <p className="mu">{t.proxyNote}</p>
      <br />
      <div className="btns">
        <Do className="btn p" disabled={Object.keys(patch).length === 0 || set.isPending}>
          {say.save}
        </Do>
        <Do type="button" disabled={set.isPending} onClick={() => set.mutate({ name: p.name, patch: { reset: true } })}>
          {say.reset}
        </Do>
      </div>
    </form>
  )
}
