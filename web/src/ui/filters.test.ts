import { expect, test } from 'vitest'

import { dayOf, each, endOf, parseSearch, startOf, toggle, writeSearch } from './filters'

/** random is a reproducible source of numbers below 1. */
function random(seed: number) {
  return () => {
    seed = (seed * 1664525 + 1013904223) % 4294967296
    return seed / 4294967296
  }
}

test('filters survive the address, whatever is in them', () => {
  const next = random(7)
  const signs = ['a', 'Z', '0', ' ', '&', '=', '+', '%', '#', '?', ',', '"', '½', 'é', '🏠', '\u202e', '<b>', "'", '/']
  const word = (least: number) =>
    Array.from({ length: least + Math.floor(next() * 6) }, () => signs[Math.floor(next() * signs.length)]).join('')
  for (let i = 0; i < 500; i++) {
    const filters = Object.fromEntries(
      Array.from({ length: Math.floor(next() * 6) }, (_, n) => [`f${n}${word(0)}`, word(1)]),
    )
    expect(parseSearch(writeSearch(filters))).toEqual(filters)
  }
  expect(writeSearch({})).toBe('')
  expect(writeSearch({ a: undefined, b: 5 })).toBe('?b=5')
})

test('a filter that comes twice means any of both', () => {
  expect(parseSearch('?rooms=4.5&rooms=5.5&text=a')).toEqual({ rooms: '4.5,5.5', text: 'a' })
  expect(parseSearch('rooms=&rooms=3.5&rooms=')).toEqual({ rooms: '3.5' })
  expect(parseSearch('?__proto__=1&toString=2')).toEqual(Object.fromEntries([['__proto__', '1'], ['toString', '2']])) // prettier-ignore
})

test('one of several values is added and taken away', () => {
  const all = ['1.5', '2.5', '3.5']
  expect(toggle('', '2.5', all)).toBe('2.5')
  expect(toggle('3.5', '1.5', all)).toBe('1.5,3.5')
  expect(toggle('1.5,3.5', '1.5', all)).toBe('3.5')
  expect(toggle('9', '1.5', all)).toBe('1.5,9')
  expect(each('')).toEqual([])
})

test('a day is the time at which it begins, and a time is itself', () => {
  expect(startOf('2026-11-21', 'UTC')).toBe('2026-11-21T00:00:00.000Z')
  expect(startOf('2026-11-21T05:30:00Z', 'UTC')).toBe('2026-11-21T05:30:00Z')
  expect(endOf('2026-11-21', 'UTC')).toBe('2026-11-21T23:59:59.999Z')
  expect(endOf('2026-11-21T05:30:00Z', 'UTC')).toBe('2026-11-21T05:30:00Z')
  expect(startOf('', 'UTC')).toBe('')
  expect(startOf(undefined, 'UTC')).toBe('')
  expect(startOf('2026-99-99', 'UTC')).toBe('2026-99-99') // refused by the API
})

test.each([
  ['2026-11-20', 'America/Toronto', '2026-11-20T05:00:00.000Z', '2026-11-21T04:59:59.999Z'],
  ['2026-03-08', 'America/Toronto', '2026-03-08T05:00:00.000Z', '2026-03-09T03:59:59.999Z'], // 23 hours
  ['2026-11-01', 'America/Toronto', '2026-11-01T04:00:00.000Z', '2026-11-02T04:59:59.999Z'], // 25 hours
  ['2026-11-20', 'Asia/Kolkata', '2026-11-19T18:30:00.000Z', '2026-11-20T18:29:59.999Z'],
  ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z', '2018-11-05T01:59:59.999Z'], // begins at 1:00
  ['2018-11-03', 'America/Sao_Paulo', '2018-11-03T03:00:00.000Z', '2018-11-04T02:59:59.999Z'],
  ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000Z', '2026-11-02T04:59:59.999Z'], // has two midnights
])('the day %s of %s is that of its clocks', (day, zone, first, last) => {
  expect(startOf(day, zone)).toBe(first)
  expect(endOf(day, zone)).toBe(last)
})

test('a time is shown as the day that it falls on in the zone of the page', () => {
  expect(dayOf('2026-11-19T01:30:00Z', 'America/Toronto')).toBe('2026-11-18')
  expect(dayOf('2026-11-19T01:30:00Z', 'UTC')).toBe('2026-11-19')
  expect(['2026-11-19', '', 'x'].map((v) => dayOf(v, 'America/Toronto'))).toEqual(['2026-11-19', '', 'x'])
})
