import { expect, test } from 'vitest'

import { excerpt, foundFields } from './place'

test('each value says where it is in draft.json', () => {
  const name = { value: 'Lamp', source: 'json-ld', confidence: 0.9 }
  const image = { value: 'https://a.example/1.jpg', source: 'og', confidence: 0.5 }
  const fields = foundFields({ name, images: [image, image] })
  expect(fields.map((f) => f.path)).toEqual(['/draft/name', '/draft/images/0', '/draft/images/1'])
  expect(excerpt(fields[0]!)).toContain('"name":\n    {\n      "value": "Lamp"')
  expect(foundFields(undefined)).toEqual([])
})
