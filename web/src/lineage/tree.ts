/** The states of a URL, in the order of their codes here. */
export const states = [
  'QUEUED',
  'IN_PROGRESS',
  'VISITED',
  'REDIRECT_301',
  'FORBIDDEN',
  'NOT_FOUND',
  'HTTP_TERMINAL',
  'FAILED',
  'SKIPPED',
] as const

const code = new Map<string, number>(states.map((s, i) => [s, i]))

/** Columns are URLs as the API gives them: the i-th of each column belong together. A parent of 0 is none. */
export interface Columns {
  ids: number[]
  parents: number[]
  states: string[]
  paths: string[]
}

/**
 * Tree is which page led to which URL first, in typed arrays by index. A parent has a lower index than its children.
 * Index 0 is the seed; what sitemaps list has no parent, and counts as its child here. A URL stays below the page that it
 * was first seen below, also when the run finds a shorter way later, so that nothing moves.
 */
export class Tree {
  n = 0
  id = new Float64Array(1024)
  parent = new Int32Array(1024) // index; -1 for the seed
  state = new Uint8Array(1024)
  kids = new Int32Array(1024) // children
  disc = new Int32Array(1024) // of a Layout; -1 = has no place yet
  x = new Float32Array(1024)
  y = new Float32Array(1024)
  paths: string[] = []

  private index = new Map<number, number>()
  private waiting = new Map<number, { parent: number; state: number; path: string }>() // for their parents, by ID

  /** of is the index of a URL, -1 where it is not known. */
  of = (id: number) => this.index.get(id) ?? -1

  /** put takes what is new, up to a number of URLs in all, and what has changed. It returns whether anything was left out. */
  put(c: Columns, most: number) {
    for (let i = 0; i < c.ids.length; i++) {
      const id = c.ids[i]!
      const known = this.index.get(id)
      const state = code.get(c.states[i]!) ?? 0
      if (known !== undefined) this.state[known] = state
      else this.waiting.set(id, { parent: c.parents[i]!, state, path: c.paths[i]! })
    }
    const ids = [...this.waiting.keys()].sort((a, b) => a - b)
    // IDs grow from parent to child as a rule; where they do not, another round finds the parent.
    for (let before = -1; before !== this.n && this.n < most;) {
      before = this.n
      for (const id of ids) {
        const w = this.waiting.get(id)
        if (!w || this.n >= most) continue
        const parent = this.n === 0 ? (w.parent === 0 ? -1 : undefined) : w.parent === 0 ? 0 : this.index.get(w.parent)
        if (parent === undefined) continue
        this.waiting.delete(id)
        this.append(id, parent, w.state, w.path)
      }
    }
    const cut = this.n >= most && this.waiting.size > 0
    if (cut) this.waiting.clear()
    return cut
  }

  private append(id: number, parent: number, state: number, path: string) {
    if (this.n === this.id.length) this.grow()
    const i = this.n++
    this.id[i] = id
    this.parent[i] = parent
    this.state[i] = state
    this.disc[i] = -1
    this.paths.push(path)
    this.index.set(id, i)
    if (parent >= 0) this.kids[parent]!++
  }

  private grow() {
    const to = 2 * this.id.length
    const wider = <A extends { set(a: A): void }>(make: new (n: number) => A, a: A) => {
      const b = new make(to)
      b.set(a)
      return b
    }
    this.id = wider(Float64Array, this.id)
    this.parent = wider(Int32Array, this.parent)
    this.state = wider(Uint8Array, this.state)
    this.kids = wider(Int32Array, this.kids)
    this.disc = wider(Int32Array, this.disc)
    this.x = wider(Float32Array, this.x)
    this.y = wider(Float32Array, this.y)
  }

  /** sizes is how many URLs lie below each, itself included. */
  sizes() {
    const size = new Int32Array(this.n).fill(1)
    for (let i = this.n - 1; i > 0; i--) size[this.parent[i]!]! += size[i]!
    return size
  }
}
