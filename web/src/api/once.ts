import { useState } from 'react'

import { useDo } from './queries'

/** newKey is a key of a request, also where the page is no secure context. */
export const newKey = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`

/** keysOf gives the keys of what a form asks for: a request that is repeated, as its answer was lost, has that of before. */
export function keysOf() {
  let last = { asked: '', key: '' }
  return {
    of(asked: unknown) {
      const text = JSON.stringify(asked)
      if (text !== last.asked) last = { asked: text, key: newKey() }
      return last.key
    },
    answered: () => void (last = { asked: '', key: '' }),
  }
}

/** onceOf is make with the key of what is asked for. */
export function onceOf<In, Out>(make: (input: In, key: string) => Promise<Out>) {
  const keys = keysOf()
  return async (input: In) => {
    const made = await make(input, keys.of(input))
    keys.answered()
    return made
  }
}

/** useMake is useDo for what makes something: it is made once, however often it is asked for until there is an answer. */
export function useMake<In, Out>(make: (input: In, key: string) => Promise<Out>, ...stale: string[]) {
  const [once] = useState(() => onceOf(make))
  return useDo(once, ...stale)
}
