// What differs between two forms of an advert.

export interface Change {
  path: string // attributes.heat
  was?: string // absent = it was not there
  now?: string
}

const mostChanges = 200

/** changes are the values that two payloads do not have in common, by their paths; at most 200. */
export function changes(was: unknown, now: unknown): Change[] {
  const [a, b] = [flat(was), flat(now)]
  const found: Change[] = []
  for (const path of [...new Set([...a.keys(), ...b.keys()])].sort()) {
    if (a.get(path) === b.get(path)) continue
    found.push({ path, was: a.get(path), now: b.get(path) })
    if (found.length === mostChanges) break
  }
  return found
}

/** flat is each value of a document by its path. */
function flat(value: unknown, path = '', into = new Map<string, string>()) {
  if (Array.isArray(value) && value.every((v) => typeof v !== 'object')) into.set(path, value.join(', '))
  else if (value !== null && typeof value === 'object') {
    for (const [name, v] of Object.entries(value)) flat(v, path ? `${path}.${name}` : name, into)
  } else if (value !== null && value !== undefined) into.set(path, String(value))
  return into
}

export interface Part {
  kind: 'same' | 'gone' | 'new'
  text: string
}

const mostCells = 1_000_000 // of the table that words are compared by

/** words compares two texts word by word. Texts that are too long for it are shown whole, the old and the new. */
export function words(was: string, now: string): Part[] {
  const [a, b] = [was.split(/(\s+)/), now.split(/(\s+)/)]
  let from = 0
  while (from < a.length && from < b.length && a[from] === b[from]) from++
  let end = 0
  while (end < a.length - from && end < b.length - from && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const parts: Part[] = []
  const add = (kind: Part['kind'], text: string) => {
    if (text === '') return
    if (parts.at(-1)?.kind === kind) parts.at(-1)!.text += text
    else parts.push({ kind, text })
  }
  add('same', a.slice(0, from).join(''))
  const [x, y] = [a.slice(from, a.length - end), b.slice(from, b.length - end)]
  if (x.length * y.length > mostCells) {
    add('gone', x.join(''))
    add('new', y.join(''))
  } else {
    // The longest common subsequence, from the end.
    const table = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1))
    for (let i = x.length - 1; i >= 0; i--)
      for (let j = y.length - 1; j >= 0; j--)
        table[i]![j] = x[i] === y[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!)
    let [i, j] = [0, 0]
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) {
        add('same', x[i]!)
        i++
        j++
      } else if (j >= y.length || (i < x.length && table[i + 1]![j]! >= table[i]![j + 1]!)) add('gone', x[i++]!)
      else add('new', y[j++]!)
    }
  }
  add('same', a.slice(a.length - end).join(''))
  return parts
}
