import { expect, test } from 'vitest'

import { en } from '../say/en'
import { fr } from '../say/fr'
import { which } from './Replays'

test('which adverts a replay is of is said in words', () => {
  const said = (f: Parameters<typeof which>[0]) => which(f, { say: en, language: 'en', zone: 'UTC' })
  expect(said({})).toBe('')
  expect(said({ platform: 'kijiji', reason: 'missing', status: ['rejected', 'duplicate'] })).toBe(
    'Platform: kijiji, Reason: a value is missing, Status: refused, duplicate',
  )
  expect(said({ ids: ['a', 'b', 'c'], platform: '' })).toBe('3 adverts by ID')
  expect(said({ scraped_since: '2020-01-02T03:04:05Z' })).toBe('Scraped from: 2 Jan 2020 03:04:05')
  expect(which({ status: ['rejected'] }, { say: fr, language: 'fr', zone: 'UTC' })).not.toContain('rejected')
})
