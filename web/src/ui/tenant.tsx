import { useTenants } from '../api/queries'
import { useSay } from '../say/Say'
import { useFilters } from './Filter'

/** notFilters are names in the address: the tenant is chosen at the top of a page. */
export const notFilters = ['tenant']

/** useTenant is the tenant that a page is about: that of the address, or the only one that there is. */
export function useTenant() {
  const [filters] = useFilters()
  const tenants = useTenants().data?.items ?? []
  return filters.tenant ?? (tenants.length === 1 ? tenants[0]!.id : '')
}

/**
 * Tenants chooses the tenant. A key of a tenant has no choice, and sees none. its are names in the address of what belongs
 * to a tenant: another has no such.
 */
export function Tenants({ its = [] }: { its?: string[] }) {
  const { say } = useSay()
  const [, change] = useFilters()
  const tenants = useTenants().data?.items ?? []
  const chosen = useTenant()
  if (tenants.length === 0) return null
  return (
    <label>
      {say.outreach.tenant}{' '}
      <select
        className="in"
        value={chosen}
        onChange={(e) => change({ ...Object.fromEntries(its.map((name) => [name, ''])), tenant: e.target.value })}
      >
        <TenantOptions tenants={tenants} chosen={chosen} />
      </select>
    </label>
  )
}

/** TenantOptions are the options of a select of tenants: with none of them, until one that there is was chosen. */
export function TenantOptions({ tenants, chosen }: { tenants: { id: string; name: string }[]; chosen: string }) {
  const { say } = useSay()
  return (
    <>
      {!tenants.some((t) => t.id === chosen) && <option value="">{say.outreach.choose}</option>}
      {tenants.map((t) => (
        <option key={t.id} value={t.id}>
          {t.name}
        </option>
      ))}
    </>
  )
}
