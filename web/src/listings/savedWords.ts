import type { Schemas } from '../api/client'
import { named } from '../say/format'
import type { Sentences } from '../say/Say'

/** nameOf is a target in words, with its state where that keeps notifications from it. */
export function nameOf(target: Schemas['SearchTarget'], say: Sentences) {
  const more = [target.label, target.state !== 'active' && say.saved.targetState[target.state]].filter(Boolean)
  return say.saved.targetKind[target.kind] + (more.length > 0 ? ` (${more.join(', ')})` : '')
}

/** inWords is what a filter asks for, name by name. Places are long: of a polygon only its corners are counted. */
export const inWords = (f: Schemas['Criteria'], say: Sentences) =>
  Object.entries(f)
    .filter(([, v]) => v !== undefined && v !== null && String(v) !== '')
    .map(([k, v]) => `${named(say.code.criterion, k)} = ${worded(k, v)}`)
    .join('; ')

function worded(name: string, value: unknown) {
  if (name === 'polygon') return (value as unknown[]).length
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value !== 'object') return String(value)
  const near = value as Schemas['Near']
  return `${near.latitude}, ${near.longitude}, ${near.metres} m`
}
