import { useEffect, useRef, useState } from 'react'

/**
 * useTyped is the text of a field whose value is the address of the page: it is told when typing pauses, ms, and what the
 * address becomes by other means takes its place.
 */
export function useTyped(value: string, tell: (text: string) => void, pause: number) {
  const [text, setText] = useState(value)
  const told = useRef(value)
  useEffect(() => {
    if (value === told.current) return
    told.current = value
    setText(value)
  }, [value])
  useEffect(() => {
    if (text === told.current) return
    const timer = setTimeout(() => {
      told.current = text
      tell(text)
    }, pause)
    return () => clearTimeout(timer)
  })
  return [text, setText] as const
}
