// A view is a list with its filters, under a name, kept on this device.

export interface View {
  name: string
  path: string // of the page: "/listings"
  search: string // "?rooms=4.5"
}

export const mostViews = 20 // of a page

const place = 'views'

/** readViews returns the views of a page. What storage has in another form counts as none. */
export function readViews(path: string): View[] {
  return all().filter((v) => v.path === path)
}

function all(): View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? '[]')
    if (!Array.isArray(kept)) return []
    return kept.filter(
      (v): v is View =>
        typeof v?.name === 'string' && v.name !== '' && typeof v.path === 'string' && typeof v.search === 'string',
    )
  } catch {
    return []
  }
}

function write(views: View[]) {
  try {
    localStorage.setItem(place, JSON.stringify(views))
  } catch {} // without storage, a view lasts as long as its address
}

/** addView keeps a view in place of one with its name, and reports whether there was room for it. */
export function addView(view: View): boolean {
  const others = all().filter((v) => v.path !== view.path || v.name !== view.name)
  if (others.filter((v) => v.path === view.path).length >= mostViews) return false
  write([...others, view])
  return true
}

export const removeView = (view: View) => write(all().filter((v) => v.path !== view.path || v.name !== view.name))

/** walkViews is the view after, or before, the one with a search; at the end it begins anew. */
export function walkViews(views: View[], search: string, by: 1 | -1): View | undefined {
  if (views.length === 0) return undefined
  const at = views.findIndex((v) => v.search === search)
  if (at < 0) return by > 0 ? views[0] : views.at(-1)
  return views[(at + by + views.length) % views.length]
}
