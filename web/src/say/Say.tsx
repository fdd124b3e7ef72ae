import { createContext, use, useCallback, useEffect, useMemo, useState, type ReactNode } from 'react'

import { en } from './en'
import type { Language, Zone } from './format'

export type Sentences = typeof en

export interface Voice {
  say: Sentences
  language: Language
  zone: Zone
  setLanguage: (l: Language) => void
  toggleZone: () => void
}

const Context = createContext<Voice | null>(null)

const stored = (key: string) => {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** keep remembers a choice on this device, where storage is allowed. */
export function keep(key: string, value: string) {
  try {
    localStorage.setItem(key, value)
  } catch {} // the choice then lasts until the reload
}

// English is there at once; the sentences of another language are read when somebody wants them.
const spoken: Partial<Record<Language, Sentences>> = { en }

async function learn(l: Language) {
  if (l === 'fr') spoken.fr ??= (await import('./fr')).fr
}

const wanted = (): Language => ((stored('language') ?? navigator.language).startsWith('fr') ? 'fr' : 'en')

/** ready ends when the console can be shown in the language that is wanted; where that cannot be read, in English. */
export const ready = () => learn(wanted()).catch(() => {})

/** Say gives all below it the sentences of the chosen language, and the zone that times are shown in. */
export function Say({ home, children }: { home: Zone; children: ReactNode }) {
  const [language, choose] = useState<Language>(() => (spoken[wanted()] ? wanted() : 'en'))
  const [utc, setUTC] = useState(() => stored('zone') === 'UTC')
  const setLanguage = useCallback((l: Language) => {
    keep('language', l)
    learn(l).then(
      () => choose(l),
      () => {}, // it cannot be read now; the next load of the page tries again
    )
  }, [])
  const toggleZone = useCallback(
    () =>
      setUTC((was) => {
        keep('zone', was ? 'home' : 'UTC')
        return !was
      }),
    [],
  )
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const voice = useMemo(
    () => ({ say: spoken[language] ?? en, language, zone: utc ? 'UTC' : home, setLanguage, toggleZone }),
    [language, utc, home, setLanguage, toggleZone],
  )
  return <Context value={voice}>{children}</Context>
}

/** useSay returns the sentences, and how to write figures beside them. */
export function useSay(): Voice {
  const voice = use(Context)
  if (!voice) throw new Error('outside of Say')
  return voice
}
