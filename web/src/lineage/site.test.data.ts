import type { Columns } from './tree'

/** site makes URLs of a site: of each twenty, one is a page that leads on. The numbers are always the same. */
export function site(n: number, from = 1): Columns {
  const c: Columns = { ids: [], parents: [], states: [], paths: [] }
  let seed = 11
  const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 2 ** 32
  for (let id = 1; id <= n; id++) {
    const pages = Math.ceil(id / 25)
    const parent = id === 1 ? 0 : 1 + Math.floor(random() ** 1.6 * pages) * (id > 200 ? 1 : 0)
    if (id < from) continue
    c.ids.push(id)
    c.parents.push(parent)
    c.states.push('VISITED')
    c.paths.push(`/page/${id}`)
  }
  return c
}
