import { useTenants } from '../api/queries'
import { useSay } from '../say/Say'
import { useFilters } from '../ui/Filter'

/** notFilters are names in the address: the tenant is chosen at the top of a page. */
export const notFilters = ['tenant']

/** useTenant is the tenant that a page is about: that of the address, or the only one that there is. */
export function useTenant() {
  const [filters] = useFilters()
  const tenants = useTenants().data?.items ?? []
  return filters.tenant ?? (tenants.length === 1 ? tenants[0]!.id : '')
}

/** Tenants chooses the tenant. A key of a tenant has no choice, and sees none. */
export function Tenants() {
  const { say } = useSay()
  const [, change] = useFilters()
  const tenants = useTenants().data?.items ?? []
  const chosen = useTenant()
  if (tenants.length === 0) return null
  return (
    <label>
      {say.outreach.tenant}{' '}
      <select className="in" value={chosen} onChange={(e) => change({ tenant: e.target.value })}>
        {chosen === '' && <option value="">{say.outreach.choose}</option>}
        {tenants.map((t) => (
          <option key={t.id} value={t.id}>
            {t.name}
          </option>
        ))}
      </select>
    </label>
  )
}
