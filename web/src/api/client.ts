import createClient from 'openapi-fetch'

import type { components, paths } from './schema.gen'

export type Schemas = components['schemas']

/** api calls the API of the same origin; the cookie of the session goes along. */
export const api = createClient<paths>({ baseUrl: '/', credentials: 'same-origin' })
