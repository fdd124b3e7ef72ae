import { expect, test } from 'vitest'

import { canRotate } from './RotateTarget'

test('what has a secret or an address of its own can be given another', () => {
  expect((['webhook', 'feed', 'email', 'telegram'] as const).filter((kind) => canRotate({ kind }))).toEqual([
    'webhook',
    'feed',
  ])
})
