import { named } from '../say/format'
import type { Sentences } from '../say/Say'

/** flat writes a value of a listing in one line; unset parts are left out. */
export function flat(value: unknown, say: Sentences): string {
  if (value === true) return say.listing.yes
  if (value === false) return say.listing.no
  if (value === null || value === undefined || value === '') return ''
  if (Array.isArray(value))
    return value
      .map((v) => flat(v, say))
      .filter(Boolean)
      .join(', ')
  if (typeof value === 'object') {
    if ('text' in value) return flat(value.text, say) // of an address: its parts say the same
    return Object.entries(value)
      .map(([k, v]) => [named(say.code.field, k), flat(v, say)])
      .filter(([, v]) => v)
      .map(([k, v]) => `${k}: ${v}`)
      .join(', ')
  }
  return String(value)
}
