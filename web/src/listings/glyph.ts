import type { State } from '../ui/Glyph'

/** listingGlyph is the sign of a listing's status. */
export const listingGlyph: Record<string, State> = { active: 'done', archived: 'idle', claimed: 'changed' }
