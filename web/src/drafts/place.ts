/** A field of a draft as it was found. */
interface Found {
  value: unknown
  source: string
  confidence: number
}

interface FoundField extends Found {
  name: string
  path: string // a JSON pointer into draft.json
}

/** foundFields are all values of a draft, one each of lists, with where each is in draft.json. */
export function foundFields(draft: Record<string, unknown> | undefined): FoundField[] {
  return Object.entries(draft ?? {}).flatMap(([name, found]) => {
    const list = Array.isArray(found)
    return ((list ? found : [found]) as Found[]).map((f, i) => ({
      ...f,
      name,
      path: `/draft/${name.replaceAll('~', '~0').replaceAll('/', '~1')}${list ? `/${i}` : ''}`,
    }))
  })
}

/** excerpt is the part of draft.json that a field is: its lines, with the names that lead there. */
export function excerpt(f: FoundField) {
  const parts = f.path.split('/').slice(1)
  const lead = parts.map((p, i) => '  '.repeat(i) + (/^\d+$/.test(p) ? `[${p}]` : `"${p}":`)).join('\n')
  const { value, source, confidence } = f
  const body = JSON.stringify({ value, source, confidence }, null, 2)
    .split('\n')
    .map((line) => '  '.repeat(parts.length) + line)
    .join('\n')
  return `${lead}\n${body}`
}
