import { expect, test } from 'vitest'

import { where } from './Warnings'

test('a run that makes no progress is looked at itself', () => {
  expect(where({ code: 'crawl_stalled', subject: '12', filter: { run: '12' } })).toEqual({ to: '/crawl/12' })
  expect(where({ code: 'crawl_stalled', subject: '' })).toEqual({ to: '/crawl' })
})
