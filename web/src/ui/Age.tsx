import { useEffect, useState } from 'react'

import { dayAndTime, duration, moment } from '../say/format'
import { useSay } from '../say/Say'

/** useNow returns the time, each second or as often as asked for, while the tab is visible. */
export function useNow(everyMs = 1000) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const tick = () => document.hidden || setNow(Date.now())
    const timer = setInterval(tick, everyMs)
    document.addEventListener('visibilitychange', tick)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', tick)
    }
  }, [everyMs])
  return now
}

/** Age writes how long ago something was, or how soon it will be, and the time itself for those who point at it. */
export function Age({ at }: { at: string | undefined | null }) {
  const { say, language, zone } = useSay()
  const now = useNow(10_000)
  if (!at) return <span className="mu">–</span>
  const then = new Date(at)
  const seconds = (now - then.getTime()) / 1000
  return (
    <time dateTime={at} title={moment(then, zone, language)}>
      {seconds < -1 ? say.in(duration(-seconds, language)) : say.ago(duration(seconds, language))}
    </time>
  )
}

/** At writes a time: of day when it is today's, with its day otherwise. */
export function At({ at }: { at: string }) {
  const { language, zone } = useSay()
  const then = new Date(at)
  return (
    <time dateTime={at} title={moment(then, zone, language)}>
      {dayAndTime(then, zone, language)}
    </time>
  )
}
