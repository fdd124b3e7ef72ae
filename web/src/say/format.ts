// How figures, times, money and codes are written, in both languages.

export type Language = 'en' | 'fr'
export type Zone = string // of IANA, such as America/Toronto

const cache = new Map<string, Intl.DateTimeFormat | Intl.NumberFormat>()

function once<T extends Intl.DateTimeFormat | Intl.NumberFormat>(key: string, make: () => T): T {
  let f = cache.get(key) as T | undefined
  if (!f) cache.set(key, (f = make()))
  return f
}

const locale = (l: Language) => (l === 'fr' ? 'fr-CA' : 'en-CA')

/** count writes a number with thousands apart: 48,211 or 48 211. */
export const count = (n: number, l: Language) =>
  once(`n${l}`, () => new Intl.NumberFormat(locale(l), { maximumFractionDigits: 0 })).format(n)

const rules = { en: new Intl.PluralRules('en-CA'), fr: new Intl.PluralRules('fr-CA') }

/** plural is the form of a word that goes with a number: 0 rows, 1 row, 2 rows; 0 ligne, 1 ligne, 2 lignes. */
export const plural =
  (l: Language) =>
  (n: number, one: string, many = one + 's') =>
    rules[l].select(n) === 'one' ? one : many

/** form is plural with its words, for a figure that stands apart from them. */
export const form =
  (l: Language) =>
  (one: string, many = one + 's') =>
  (n: number) =>
    plural(l)(n, one, many)

/** counted writes a number and the form of a word that goes with it: 1,204 rows. */
export const counted =
  (l: Language) =>
  (n: number, one: string, many = one + 's') =>
    `${count(n, l)} ${plural(l)(n, one, many)}`

/** decimal writes a number with one decimal. */
export const decimal = (n: number, l: Language) =>
  once(`d${l}`, () => new Intl.NumberFormat(locale(l), { minimumFractionDigits: 1, maximumFractionDigits: 1 })).format(
    n,
  )

/** money writes whole dollars of cents, as in Quebec, in both languages: 1 485 $. */
export const money = (cents: number) =>
  String(Math.round(cents / 100)).replace(/\B(?=(\d{3})+$)/g, '\u202f') + '\u00a0$'

/** named is what a table calls a code; one that it does not know is shown as it is. */
export const named = (names: Record<string, string>, code: string) => (Object.hasOwn(names, code) ? names[code]! : code)

/** rooms writes a Quebec count: 4½. */
export const rooms = (n: number) => (n % 1 === 0.5 ? `${Math.floor(n) || ''}½` : String(n))

/** bytes writes a size: 1.7 MB. */
export function bytes(n: number, l: Language) {
  const units = l === 'fr' ? ['o', 'ko', 'Mo', 'Go', 'To'] : ['B', 'kB', 'MB', 'GB', 'TB']
  let u = 0
  while (n >= (u === 0 ? 1000 : 999.95) && u < units.length - 1) {
    n /= 1000
    u++
  }
  return `${u === 0 ? count(n, l) : decimal(n, l)}\u00a0${units[u]}`
}

/** duration writes seconds: 0.3 s, 2 min 10 s, 29 h, 3 d. */
export function duration(seconds: number, l: Language) {
  const s = Math.max(0, seconds)
  const day = l === 'fr' ? 'j' : 'd'
  if (s < 9.95) return `${decimal(s, l)}\u00a0s`
  if (s < 59.5) return `${Math.round(s)}\u00a0s`
  if (s < 600) return rest(Math.floor(s / 60), 'min', Math.round(s % 60), 's')
  if (s < 3600) return `${Math.round(s / 60)}\u00a0min`
  if (s < 36000) return rest(Math.floor(s / 3600), 'h', Math.round((s % 3600) / 60), 'min')
  if (s < 172800) return `${Math.round(s / 3600)}\u00a0h`
  return `${count(Math.round(s / 86400), l)}\u00a0${day}`
}

const rest = (n: number, unit: string, more: number, small: string) =>
  more === 0 || more === 60 ? `${n + (more === 60 ? 1 : 0)}\u00a0${unit}` : `${n}\u00a0${unit} ${more}\u00a0${small}`

/** clock writes a time of day: 14:31:52. */
export const clock = (at: Date, zone: Zone) =>
  once(`c${zone}`, () => new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'medium' })).format(at)

const year = (at: Date, zone: Zone) =>
  once(`Y${zone}`, () => new Intl.DateTimeFormat('en-GB', { timeZone: zone, year: 'numeric' })).format(at)

/** day writes a day: 18 Nov, 18 nov.; one of another year than now with its year: 18 Nov 2025. */
export function day(at: Date, zone: Zone, l: Language, now = new Date()) {
  const other = year(at, zone) !== year(now, zone)
  return once(
    `y${zone}${l}${other}`,
    () =>
      new Intl.DateTimeFormat(l === 'fr' ? 'fr-CA' : 'en-GB', {
        timeZone: zone,
        day: 'numeric',
        month: 'short',
        year: other ? 'numeric' : undefined,
      }),
  ).format(at)
}

/** dayAndTime writes a time: of day when it is of today, with its day otherwise. */
export function dayAndTime(at: Date, zone: Zone, l: Language, now = new Date()) {
  const of = day(at, zone, l, now)
  return (of === day(now, zone, l, now) ? '' : `${of} `) + clock(at, zone)
}

/** tick writes a time of a drawing over a span, s: with seconds in a short one, with its day in one of a day or more. */
export function tick(at: number, span: number, zone: Zone, l: Language) {
  const then = new Date(at)
  if (span <= 600) return clock(then, zone)
  return (span >= 86_400 ? `${day(then, zone, l)} ` : '') + clock(then, zone).slice(0, 5)
}

/** longDay writes a day in full: Saturday 21 November. */
export const longDay = (at: Date, zone: Zone, l: Language) =>
  once(
    `l${zone}${l}`,
    () =>
      new Intl.DateTimeFormat(l === 'fr' ? 'fr-CA' : 'en-GB', {
        timeZone: zone,
        weekday: 'long',
        day: 'numeric',
        month: 'long',
      }),
  ).format(at)

/** moment writes a time in full, with its zone, for those who point at a relative one. */
export const moment = (at: Date, zone: Zone, l: Language) =>
  once(
    `m${zone}${l}`,
    () =>
      new Intl.DateTimeFormat(l === 'fr' ? 'fr-CA' : 'en-GB', {
        timeZone: zone,
        dateStyle: 'medium',
        timeStyle: 'long',
      }),
  ).format(at)

/** deviceZone is that of this device, in which it reads the times that are typed. */
export const deviceZone = (): Zone => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** offset is how far the clocks of a zone are ahead of UTC at a time, in ms. */
export function offset(at: number, zone: Zone) {
  const named = once(`o${zone}`, () => new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }))
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(named.format(at)) ?? ['', '+', '0', '0']
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** place writes the name of a zone: Montréal for America/Toronto and America/Montreal. */
export function place(zone: Zone) {
  if (zone === 'America/Toronto' || zone === 'America/Montreal') return 'Montréal'
  return zone.split('/').pop()!.replaceAll('_', ' ')
}
