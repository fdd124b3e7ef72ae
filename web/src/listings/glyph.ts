import type { State } from '../ui/Glyph'

/** advertGlyph is the sign of an advert that is no listing; others are on their way to become one. */
export const advertGlyph: Record<string, State> = { rejected: 'failed', duplicate: 'twin' }

/** listingGlyph is the sign of a listing's status. */
export const listingGlyph: Record<string, State> = { active: 'done', archived: 'idle', claimed: 'changed' }
