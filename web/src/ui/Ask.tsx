import { useId, useLayoutEffect, useRef, type PointerEvent, type ReactNode } from 'react'

import type { Role } from '../api/queries'
import { useSay } from '../say/Say'
import { Do } from './Do'

/** beside reports whether a pointer is on what is behind a dialog, and not on its padding. */
function beside(e: PointerEvent<HTMLDialogElement>) {
  const box = e.currentTarget.getBoundingClientRect()
  const inside = e.clientX >= box.left && e.clientX <= box.right && e.clientY >= box.top && e.clientY <= box.bottom
  return e.target === e.currentTarget && !inside
}

/** typeAbove is of how many things the number has to be typed before they are changed. */
export const typeAbove = 1000

/** TypeNumber wants the number of things typed before they are changed. */
export function TypeNumber(p: { n: number; typed: string; onType: (typed: string) => void }) {
  const { say } = useSay()
  return (
    <label>
      {say.typeTheNumber(String(p.n))}{' '}
      <input className="in" inputMode="numeric" value={p.typed} onChange={(e) => p.onType(e.target.value)} />
    </label>
  )
}

/**
 * Ask is a dialog above the page. Escape and a click beside it close it, unless it is held: then only a button in it
 * does. The focus goes back where it was.
 */
export function Ask({
  title,
  text,
  held = false,
  onClose,
  children,
}: {
  title: string
  text?: string // the ID of what is read out after the title
  held?: boolean
  onClose: () => void
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the dialog leaves the document: one that is removed first does not give the focus back.
  useLayoutEffect(() => {
    const d = dialog.current
    d?.showModal()
    return () => d?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      aria-describedby={text}
      onCancel={(e) => {
        e.preventDefault()
        if (!held) onClose()
      }}
      // Browsers close a dialog at the second Escape in a row, whatever is said to the first.
      onClose={(e) => {
        const d = e.currentTarget
        if (held && d.isConnected && !d.open) d.showModal()
      }}
      onPointerDown={(e) => !held && beside(e) && onClose()}
    >
      {children}
    </dialog>
  )
}

/** Close is the button that closes a dialog. */
export function Close({ onClick }: { onClick: () => void }) {
  const { say } = useSay()
  return (
    <button className="btn" onClick={onClick}>
      {say.close}
    </button>
  )
}

/** Confirm asks before one thing is done: what it means stands above the button, which needs a role. It closes by itself. */
export function Confirm(p: {
  title: string // also of the button
  role?: Role
  onYes: () => void
  onClose: () => void
  children: ReactNode
}) {
  const { say } = useSay()
  const id = useId()
  return (
    <Ask title={p.title} text={id} onClose={p.onClose}>
      <div id={id} className="asked">
        {p.children}
      </div>
      <p className="btns">
        <Do
          role={p.role}
          className="btn p"
          onClick={() => {
            p.onYes()
            p.onClose()
          }}
        >
          {p.title}
        </Do>
        <button className="btn" onClick={p.onClose}>
          {say.cancel}
        </button>
      </p>
    </Ask>
  )
}
