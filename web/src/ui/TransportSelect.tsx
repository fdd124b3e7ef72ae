import type { Schemas } from '../api/client'
import { useSay } from '../say/Say'
import { Options } from './parts'

type Transport = Schemas['Platform']['transport']

/** TransportSelect chooses how pages of a site are read. none is what '' stands for, where nothing may be chosen. */
export function TransportSelect<T extends Transport | ''>(p: { value: T; onChange: (t: T) => void; none?: string }) {
  const t = useSay().say.platform
  return (
    <label>
      {t.transport}
      <select className="in" value={p.value} onChange={(e) => p.onChange(e.target.value as T)}>
        {p.none !== undefined && <option value="">{p.none}</option>}
        <Options of={(['http', 'browser'] as const).map((one) => [one, t.transports[one]])} />
      </select>
    </label>
  )
}
