import { describe, expect, test } from 'vitest'

import { bytes, clock, count, day, dayAndTime, duration, money, named, place, rooms, tick } from './format'

const plain = (s: string) => s.replace(/[\u00a0\u202f]/g, ' ')

describe('format', () => {
  test.each([
    [0, '0.0 s', '0,0 s'],
    [0.34, '0.3 s', '0,3 s'],
    [9.96, '10 s', '10 s'],
    [59.6, '1 min', '1 min'],
    [130, '2 min 10 s', '2 min 10 s'],
    [599.7, '10 min', '10 min'],
    [3599, '60 min', '60 min'],
    [7260, '2 h 1 min', '2 h 1 min'],
    [104_400, '29 h', '29 h'],
    [259_200, '3 d', '3 j'],
    [-5, '0.0 s', '0,0 s'],
  ])('%d seconds', (n, en, fr) => {
    expect(plain(duration(n, 'en'))).toBe(en)
    expect(plain(duration(n, 'fr'))).toBe(fr)
  })

  test('figures', () => {
    expect(plain(count(48211, 'en'))).toBe('48,211')
    expect(plain(count(48211, 'fr'))).toBe('48 211')
    expect(plain(money(148500))).toBe('1 485 $')
    expect(plain(money(99950))).toBe('1 000 $')
    expect(plain(money(123456700))).toBe('1 234 567 $')
    expect([4.5, 0.5, 3].map(rooms)).toEqual(['4½', '½', '3'])
    expect(plain(bytes(1_700_000, 'en'))).toBe('1.7 MB')
    expect(plain(bytes(999, 'fr'))).toBe('999 o')
    expect(plain(bytes(999_960, 'en'))).toBe('1.0 MB')
  })

  test('times', () => {
    const at = new Date('2026-11-23T14:31:52Z')
    expect(clock(at, 'America/Toronto')).toBe('09:31:52')
    expect(clock(at, 'UTC')).toBe('14:31:52')
    expect(place('America/Toronto')).toBe('Montréal')
    expect(place('America/Argentina/Buenos_Aires')).toBe('Buenos Aires')
  })

  // A listing lives for years: without its year a day of last November is read as one of this.
  test.each([
    ['2026-11-18T12:00:00Z', 'UTC', '18 Nov', '18 nov.'],
    ['2025-11-18T12:00:00Z', 'UTC', '18 Nov 2025', '18 nov. 2025'],
    ['2026-01-01T03:00:00Z', 'UTC', '1 Jan', '1 janv.'],
    ['2026-01-01T03:00:00Z', 'America/Toronto', '31 Dec 2025', '31 déc. 2025'],
    ['2027-02-01T12:00:00Z', 'UTC', '1 Feb 2027', '1 févr. 2027'],
  ])('the day of %s in %s', (at, zone, en, fr) => {
    const now = new Date('2026-11-30T15:00:00Z')
    expect(day(new Date(at), zone, 'en', now)).toBe(en)
    expect(plain(day(new Date(at), zone, 'fr', now))).toBe(fr)
  })

  test.each([
    ['2026-11-30T02:04:05Z', 'UTC', '02:04:05'],
    ['2026-11-30T02:04:05Z', 'America/Toronto', '29 Nov 21:04:05'],
    ['2025-11-30T10:00:00Z', 'UTC', '30 Nov 2025 10:00:00'], // a year ago to the day
  ])('%s in %s is today or has its day', (at, zone, written) => {
    expect(dayAndTime(new Date(at), zone, 'en', new Date('2026-11-30T15:00:00Z'))).toBe(written)
  })

  test.each([
    [600, '09:31:52'],
    [3600, '09:31'],
    [86_400, '23 Nov 2020 09:31'],
    [30 * 86_400, '23 Nov 2020 09:31'],
  ])('a time of a drawing over %d s', (span, written) => {
    expect(tick(Date.parse('2020-11-23T14:31:52Z'), span, 'America/Toronto', 'en')).toBe(written)
  })

  test('a code that has no name is shown as it is', () => {
    const names = { out_of_range: 'out of range' }
    expect(named(names, 'out_of_range')).toBe('out of range')
    expect(named(names, 'not_known')).toBe('not_known')
    expect(named(names, 'constructor')).toBe('constructor')
  })
})
