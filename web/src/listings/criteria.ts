import type { Schemas } from '../api/client'
import type { Filters } from '../api/queries'
import { each } from '../ui/filters'

const words = ['text', 'available_by', 'pets'] as const
const alone = ['platform', 'neighbourhood'] as const // a saved search takes one of them
const numbers = ['min_price', 'max_price', 'min_bedrooms', 'min_area', 'max_area'] as const
const severalNumbers = ['rooms', 'bedrooms', 'bbox'] as const
const severalWords = ['furnished', 'parking', 'lease'] as const

/**
 * criteriaOf makes the filter of a saved search of the filters of listings. left are the names of those that it cannot
 * have: it is about what is offered from now on, so it has no time, and of states only that an owner has taken it over.
 */
export function criteriaOf(filters: Filters): { filter: Schemas['Criteria']; left: string[] } {
  const filter: Record<string, unknown> = {}
  const left: string[] = []
  const is = (names: readonly string[], name: string) => names.includes(name)
  for (const [name, value] of Object.entries(filters)) {
    if (!value || name === 'sort' || name === 'view' || (name === 'status' && value === 'active')) continue
    if (is(words, name)) filter[name] = value
    else if (is(alone, name) && each(value).length === 1) filter[name] = value
    else if (is(numbers, name)) filter[name] = Number(value)
    else if (is(severalNumbers, name)) filter[name] = each(value).map(Number)
    else if (is(severalWords, name)) filter[name] = each(value)
    else if (name === 'has_images' && value === 'yes') filter[name] = true
    else if (name === 'status' && value === 'claimed') filter.claimed = true
    else left.push(name)
  }
  return { filter, left }
}
