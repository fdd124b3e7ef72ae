import { useRef, type PointerEvent, type RefObject } from 'react'

import type { Stage } from './stage'
import type { Order, View } from './talk'

const click = 5 // CSS pixels: a pointer that has moved less has not dragged
const reach = 9 // CSS pixels between the pointer and a URL that it means

/** usePointers are what fingers and a mouse do with the drawing: they drag and zoom it, point at a URL, and pick it. */
export function usePointers(
  root: RefObject<HTMLDivElement | null>,
  stage: RefObject<Stage | undefined>,
  does: {
    tell: (o: Order) => void
    look: (view: View) => void
    zoom: (by: number, x?: number, y?: number) => void
    overlay: () => void
  },
) {
  const { tell, look, zoom, overlay } = does
  const fingers = useRef(new Map<number, { x: number; y: number }>())
  const dragged = useRef(0)
  const place = (e: PointerEvent) => {
    const r = root.current!.getBoundingClientRect()
    return { x: e.clientX - r.left, y: e.clientY - r.top }
  }
  const meant = (at: { x: number; y: number }) => {
    const v = stage.current?.view
    return v && { x: (at.x - v.x) / v.k, y: (at.y - v.y) / v.k, within: reach / v.k }
  }
  const onDown = (e: PointerEvent<HTMLDivElement>) => {
    if (e.target instanceof Element && e.target.closest('button, input, label')) return
    e.currentTarget.setPointerCapture(e.pointerId)
    fingers.current.set(e.pointerId, place(e))
    dragged.current = 0
  }
  const onMove = (e: PointerEvent) => {
    const [s, now, was] = [stage.current, place(e), fingers.current.get(e.pointerId)]
    if (!s?.view) return
    if (!was) {
      const m = e.pointerType === 'mouse' && meant(now)
      if (m) tell({ do: 'point', ...m })
      return
    }
    const [dx, dy] = [now.x - was.x, now.y - was.y]
    dragged.current += Math.abs(dx) + Math.abs(dy)
    const other = [...fingers.current].find(([id]) => id !== e.pointerId)?.[1]
    fingers.current.set(e.pointerId, now)
    if (other) {
      const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(was.x - other.x, was.y - other.y)
      zoom(by, (now.x + other.x) / 2, (now.y + other.y) / 2)
    } else if (dragged.current >= click) {
      s.touched = true
      look({ ...s.view, x: s.view.x + dx, y: s.view.y + dy })
    }
  }
  const onUp = (e: PointerEvent) => {
    if (!fingers.current.delete(e.pointerId) || e.type === 'pointercancel') return
    const m = dragged.current < click && meant(place(e))
    if (m) tell({ do: 'pick', ...m })
  }
  const onLeave = () => {
    if (stage.current) stage.current.shown.under = undefined
    overlay()
  }
  return {
    onPointerDown: onDown,
    onPointerMove: onMove,
    onPointerUp: onUp,
    onPointerCancel: onUp,
    onPointerLeave: onLeave,
  }
}
