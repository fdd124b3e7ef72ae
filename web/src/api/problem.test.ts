import { expect, test } from 'vitest'

import { Problem } from './problem'

const about = (detail: string, ...locations: string[]) =>
  new Problem(
    422,
    'Unprocessable Entity',
    detail,
    locations.map((location) => ({ location })),
  ).about()

test('a problem names the fields of the body that it is about', () => {
  expect(about('validation failed', 'body.targets[0].url', 'body.name', 'query.tenant')).toEqual(['targets', 'name'])
  expect(about('name: there is another saved search of this name')).toEqual(['name'])
  expect(about('e-mail is not set up: CONVEYOR_SMTP_URL of the API is empty')).toEqual([])
  expect(about('')).toEqual([])
})
