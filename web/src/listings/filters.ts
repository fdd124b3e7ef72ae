import type { Filters } from '../api/queries'
import { money, rooms } from '../say/format'
import type { Sentences } from '../say/Say'
import { shown, type Field } from '../ui/Filter'

const each = (o: Record<string, string>) => Object.entries(o).map(([value, label]) => ({ value, label }))

/** notFilters are names in the address of the listings that filter nothing. */
export const notFilters = ['view', 'tenant']

/** listingFields are the filters of listings, the most used first. */
export function listingFields(
  say: Sentences,
  platforms: { name: string }[],
  districts: { key: string; label: string }[],
): Field[] {
  const t = say.listing
  const f = t.filter
  return [
    { name: 'text', label: t.text },
    {
      name: 'platform',
      label: t.platform,
      several: true,
      options: platforms.map((p) => ({ value: p.name, label: p.name })),
    },
    {
      name: 'status',
      label: t.status,
      several: true,
      usual: 'active',
      options: each({ ...t.statuses, any: say.all }),
    },
    { name: 'min_price', label: t.minRent, kind: 'number' },
    { name: 'max_price', label: t.maxRent, kind: 'number' },
    {
      name: 'rooms',
      label: t.rooms,
      kind: 'many',
      options: [1.5, 2.5, 3.5, 4.5, 5.5, 6.5].map((n) => ({ value: String(n), label: rooms(n) })),
    },
    {
      name: 'neighbourhood',
      label: t.hood,
      kind: 'pick',
      options: districts.map((d) => ({ value: d.key, label: d.label })),
    },
    { name: 'sort', label: t.sort, usual: 'newest', options: each(f.sorts) },
    {
      name: 'bedrooms',
      label: t.bedrooms,
      kind: 'many',
      more: true,
      options: [0, 1, 2, 3, 4, 5].map((n) => ({ value: String(n), label: n === 0 ? t.studio : String(n) })),
    },
    { name: 'min_bedrooms', label: f.minBedrooms, kind: 'number', more: true },
    { name: 'min_area', label: f.minArea, kind: 'number', more: true },
    { name: 'max_area', label: f.maxArea, kind: 'number', more: true },
    { name: 'pets', label: f.pets, options: each(f.petsOf), more: true },
    { name: 'furnished', label: f.furnished, kind: 'many', options: each(f.furnishedOf), more: true },
    { name: 'parking', label: f.parking, kind: 'many', options: each(f.parkingOf), more: true },
    { name: 'lease', label: f.lease, kind: 'many', options: each(f.leaseOf), more: true },
    { name: 'available_by', label: f.availableBy, kind: 'date', more: true },
    {
      name: 'has_images',
      label: t.pictures,
      more: true,
      options: [
        { value: 'yes', label: f.withPictures },
        { value: 'no', label: f.withoutPictures },
      ],
    },
    { name: 'updated_since', label: f.updatedSince, kind: 'set' },
    { name: 'bbox', label: f.bbox, kind: 'set' },
  ]
}

/** inWords says what filters let through, in short: "4½, Parc-Laurier, to 1 600 $". */
export function inWords(filters: Filters, fields: Field[], say: Sentences) {
  const f = say.listing.filter
  return Object.entries(filters)
    .filter(([name, v]) => v !== '' && name !== 'sort' && !notFilters.includes(name))
    .map(([name, v]) => {
      const field = fields.find((one) => one.name === name)
      if (name === 'min_price') return f.from(money(Number(v) * 100))
      if (name === 'max_price') return f.to(money(Number(v) * 100))
      if (name === 'text') return `“${v}”`
      if (!field) return `${name} ${v}`
      if (field.kind === 'set') return field.label
      return field.options ? shown(field, v) : `${field.label} ${v}`
    })
    .join(', ')
}
