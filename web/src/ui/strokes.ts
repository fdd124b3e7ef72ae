/** A Stroke is a run of samples without a gap: x from 0 (the drawing's begin) to 1 (its end), and the values there. */
export type Stroke = [x: number, value: number][]

/**
 * strokes are the runs of one figure. Where no sample was taken for longer than gap (ms), a line would say something that
 * nobody has seen: a new run begins. A value that is not known ends a run, too. part is where a time lies, from 0 to 1.
 */
export function strokes<P extends { at: string }>(
  points: P[],
  part: (at: number) => number,
  gap: number,
  of: (p: P) => number | undefined,
): Stroke[] {
  const all: Stroke[] = []
  let last: number | undefined
  for (const p of points) {
    const at = Date.parse(p.at)
    const value = of(p)
    if (value === undefined) {
      last = undefined
      continue
    }
    if (last === undefined || at - last > gap) all.push([])
    all.at(-1)!.push([part(at), value])
    last = at
  }
  return all
}

/** within is where a time (ms) lies between two others, from 0 to 1. */
export const within = (since: number, until: number) => (at: number) =>
  Math.min(1, Math.max(0, (at - since) / Math.max(1, until - since)))
