import { changeSavedSearch, useDo, useSavedSearch, useSavedSearches, useSession } from '../api/queries'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { useFilters } from '../ui/Filter'
import { Glyph } from '../ui/Glyph'
import { Empty, Head, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { SavedSearch } from './SavedSearch'
import { inWords, nameOf } from './savedWords'

/** SavedSearches are the saved filters of a tenant: the targets of each, what it found, and what was delivered. */
export function SavedSearches() {
  const { say } = useSay()
  const t = say.saved
  const [filters, change] = useFilters()
  const tenant = useTenant()
  const ofOne = useOfOne()
  const own = useSession().data?.caller?.tenant // whose key is refused listings
  const searches = useSavedSearches(tenant, ofOne)
  const set = useDo(changeSavedSearch, 'saved-searches')
  const listed = searches.data?.pages.flatMap((p) => p.items).find((s) => s.id === filters.search)
  const behind = !!filters.search && !listed && searches.hasNextPage // on a page that is not read yet
  const one = useSavedSearch(tenant, filters.search ?? '', behind)
  const chosen = listed ?? (behind ? one.data : undefined)
  return (
    <>
      <Head
        title={t.title}
        actions={
          <>
            {!own && (
              <ToPage className="btn" to="/listings" search={{ tenant: tenant || undefined }}>
                {t.chooseFilters}
              </ToPage>
            )}
            <Tenants its={['search', 'state']} />
          </>
        }
      >
        <p>{t.intro}</p>
      </Head>
      <Trouble error={set.error ?? (behind ? one.error : undefined)} />
      {!ofOne ? (
        <Whose choose={t.whose} />
      ) : (
        <Rows
          label={t.title}
          pages={searches}
          id={(s) => s.id}
          empty={<Empty>{t.never}</Empty>}
          columns={[
            {
              name: 'name',
              head: t.name,
              cell: (s) => (
                <>
                  <Glyph state={s.state === 'active' ? 'done' : 'idle'} />
                  <ToPage
                    id={s.id}
                    to="/searches"
                    search={{ ...filters, tenant: tenant || undefined, search: s.id }}
                    resetScroll={false}
                  >
                    <b>{s.name}</b>
                  </ToPage>
                </>
              ),
            },
            {
              name: 'filter',
              head: t.filter,
              className: 'wrap',
              cell: (s) => <span className="m2">{inWords(s.filter, say) || t.everything}</span>,
            },
            { name: 'kinds', head: t.kinds, cell: (s) => s.kinds.map((k) => t.kind[k]).join(', ') },
            {
              name: 'targets',
              head: t.targets,
              cell: (s) => s.targets.map((to) => nameOf(to, say)).join(', ') || say.none,
            },
            { name: 'updated', head: say.listing.updated, className: 'r', cell: (s) => <Age at={s.updated_at} /> },
            {
              name: 'pause',
              head: <span className="aside">{say.pause}</span>,
              className: 'r',
              cell: (s) => (
                <Do
                  disabled={set.isPending}
                  onClick={() =>
                    set.mutate({ tenant, id: s.id, patch: { state: s.state === 'active' ? 'paused' : 'active' } })
                  }
                >
                  {s.state === 'active' ? say.pause : say.resume}
                </Do>
              ),
            },
          ]}
        />
      )}
      {chosen && (
        <SavedSearch
          key={chosen.id}
          tenant={tenant}
          search={chosen}
          onClose={(gone) => {
            change({ search: '', state: '' })
            // What has the focus is closed: it goes back to the link, or where there will be none to the page.
            const back = document.getElementById(gone ? 'main' : chosen.id) ?? document.getElementById('main')
            back?.focus()
          }}
        />
      )}
    </>
  )
}
