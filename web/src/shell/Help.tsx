import { useState } from 'react'

import { keep, useSay } from '../say/Say'
import { Ask, Close } from '../ui/Ask'
import { shortcuts, type Shortcut } from '../ui/keys'

let single = (() => {
  try {
    return localStorage.getItem('keys') !== 'off'
  } catch {
    return true
  }
})()

/** singleOff reports whether keys that are a single character are switched off on this device. */
export const singleOff = () => !single

/** Help lists the keys that work on this page now, and switches single characters off. */
export function Help({ onClose }: { onClose: () => void }) {
  const { say } = useSay()
  const k = say.key
  const [off, setOff] = useState(singleOff())
  const [now] = useState(shortcuts) // as they were when the dialog was opened
  const rest = now.filter((s) => s.everywhere && !s.keys.startsWith('g '))
  return (
    <Ask title={say.nav.shortcuts} onClose={onClose}>
      <h2>{say.nav.shortcuts}</h2>
      <div className="keygroups">
        <Group name={k.ofPage} list={now.filter((s) => !s.everywhere)} />
        <Group name={k.ofAll} list={rest} />
        <Group name={k.goTo} list={now.filter((s) => s.keys.startsWith('g '))} />
      </div>
      <label>
        <input
          type="checkbox"
          checked={off}
          onChange={(e) => {
            single = !e.target.checked
            setOff(e.target.checked)
            keep('keys', single ? 'on' : 'off')
          }}
        />{' '}
        {k.off}
      </label>
      <p className="btns">
        <Close onClick={onClose} />
      </p>
    </Ask>
  )
}

function Group({ name, list }: { name: string; list: Shortcut[] }) {
  const { say } = useSay()
  if (list.length === 0) return null
  const key = (one: string) =>
    one === ' ' ? say.space : one.replace('mod+', '⌘').replace('shift+', '⇧').replace('Escape', 'esc')
  return (
    <section>
      <h3>{name}</h3>
      <dl className="keys">
        {list.map((s) => (
          <div key={s.keys} style={{ display: 'contents' }}>
            <dt>
              {(s.keys === ' ' ? [' '] : s.keys.split(' ')).map((one) => (
                <kbd key={one}>{key(one)}</kbd>
              ))}
            </dt>
            <dd>{s.what}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
