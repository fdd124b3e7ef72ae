import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'

import { Boundary, Missing } from './shell/Boundary'
import { LoginPage } from './shell/Login'
import { Shell } from './shell/Shell'
import { Today } from './today/Today'
import { parseSearch, writeSearch } from './ui/filters'

const root = createRootRoute({
  component: Shell,
  notFoundComponent: Missing,
  errorComponent: Boundary,
  // Filters are the address. They are text; a page says which it knows, and shows an error for others.
  validateSearch: (s: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(Object.entries(s).map(([k, v]) => [k, String(v)])),
})

// A page: its path, and what loads it. A new page is a line here and one in the rail.
// The page of another thing is another page: what was asked and answered of the one before, such as a whole number that
// was shown, does not stay.
const page = (path: string, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load as never, name as never),
    remountDeps: ({ params }) => params,
  })

const routes = [
  createRoute({ getParentRoute: () => root, path: '/', component: Today }),
  createRoute({ getParentRoute: () => root, path: '/login', component: LoginPage }),
  page('/listings', () => import('./listings/Listings'), 'Listings'),
  page('/listings/$id', () => import('./listings/Listing'), 'Listing'),
  page('/refused', () => import('./listings/Refused'), 'Refused'),
  page('/duplicates', () => import('./listings/Duplicates'), 'Duplicates'),
  page('/platforms', () => import('./listings/Platforms'), 'Platforms'),
  page('/platforms/$name', () => import('./listings/Platforms'), 'Platform'),
  page('/platforms/$name/searches/$search', () => import('./listings/PlatformSearches'), 'PlatformSearch'),
  page('/replays', () => import('./listings/Replays'), 'Replays'),
  page('/searches', () => import('./listings/SavedSearches'), 'SavedSearches'),
  page('/replays/$id', () => import('./listings/Replays'), 'Replay'),
  page('/crawl', () => import('./crawl/Runs'), 'Runs'),
  page('/crawl/compare', () => import('./crawl/Compare'), 'Compare'),
  page('/crawl/$id', () => import('./crawl/Run'), 'Run'),
  page('/search', () => import('./search/Search'), 'Search'),
  page('/search/$id', () => import('./search/Page'), 'Page'),
  page('/drafts', () => import('./drafts/Drafts'), 'Drafts'),
  page('/drafts/requests', () => import('./drafts/Requests'), 'Requests'),
  page('/drafts/requests/$id', () => import('./drafts/Request'), 'Request'),
  page('/drafts/$id', () => import('./drafts/Draft'), 'Draft'),
  page('/uploads', () => import('./outreach/Uploads'), 'Uploads'),
  page('/uploads/$id', () => import('./outreach/Upload'), 'Upload'),
  page('/campaigns', () => import('./outreach/Campaigns'), 'Campaigns'),
  page('/campaigns/$id', () => import('./outreach/Campaign'), 'Campaign'),
  page('/contacts', () => import('./outreach/Contacts'), 'Contacts'),
  page('/tenants', () => import('./outreach/Tenants'), 'Tenants'),
  page('/messages', () => import('./outreach/Messages'), 'Messages'),
  page('/messages/$id', () => import('./outreach/Message'), 'Message'),
  page('/queues', () => import('./operations/Queues'), 'Queues'),
  page('/dead-letters', () => import('./operations/Letters'), 'Letters'),
  page('/dead-letters/$id', () => import('./operations/Letter'), 'Letter'),
  page('/activity', () => import('./operations/Activity'), 'Activity'),
  page('/keys', () => import('./operations/Keys'), 'Keys'),
  page('/licences', () => import('./operations/Licences'), 'Licences'),
]

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/ui',
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultErrorComponent: Boundary,
  // Values of filters are text: "5" stays "5".
  parseSearch,
  stringifySearch: writeSearch,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
