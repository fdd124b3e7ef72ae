import { useId, type ComponentProps } from 'react'

import { Problem } from '../api/problem'
import { useSession, useTenants } from '../api/queries'
import { useSay } from '../say/Say'
import { useFilters } from './Filter'
import { Empty, Options, Trouble } from './parts'

/** notFilters are names in the address: the tenant is chosen at the top of a page. */
export const notFilters = ['tenant']

/** useTenant is the tenant that a page is about: that of the address, or the only one that there is. */
export function useTenant() {
  const [filters] = useFilters()
  const tenants = useTenants().data?.items ?? []
  return filters.tenant ?? (tenants.length === 1 ? tenants[0]!.id : '')
}

/** useOfOne reports whether it is known whose things are shown: of a tenant that was chosen, or of the caller's own. */
export function useOfOne() {
  const tenant = useTenant()
  return !!useSession().data?.caller?.tenant || tenant !== ''
}

/**
 * mustType reports whether a tenant has to be typed: the caller may not list them, and is of none, or there are more than
 * a list shows.
 */
export const mustType = (list: { error: unknown; data?: { more: boolean } }, own: string | undefined) =>
  !own && (!!list.data?.more || (!!list.error && Problem.of(list.error).status === 403))

/** Whose stands for what is of a tenant, until there is one. */
export function Whose({ choose }: { choose?: string }) {
  const { say } = useSay()
  const list = useTenants()
  const own = useSession().data?.caller?.tenant
  if (mustType(list, own)) return <Empty>{list.data ? say.outreach.typeOfMany : say.outreach.typeTenant}</Empty>
  if (list.error) return <Trouble error={list.error} again={() => void list.refetch()} />
  if (!list.data) return null
  return <Empty>{list.data.items.length === 0 ? say.outreach.noTenants : (choose ?? say.outreach.choose)}</Empty>
}

/**
 * Tenants chooses the tenant. A key of a tenant has no choice, and sees none. its are names in the address of what belongs
 * to a tenant: another has no such.
 */
export function Tenants({ its = [] }: { its?: string[] }) {
  const { say } = useSay()
  const [, change] = useFilters()
  const list = useTenants()
  const tenants = list.data?.items ?? []
  const chosen = useTenant()
  const own = useSession().data?.caller?.tenant
  const choose = (tenant: string) => change({ ...Object.fromEntries(its.map((name) => [name, ''])), tenant })
  if (mustType(list, own)) return <Typed key={chosen} tenant={chosen} known={tenants} onChoose={choose} />
  if (tenants.length === 0) return null
  return (
    <label>
      {say.outreach.tenant}{' '}
      <select className="in" value={chosen} onChange={(e) => choose(e.target.value)}>
        <TenantOptions tenants={tenants} chosen={chosen} />
      </select>
    </label>
  )
}

/** Typed is the ID of a tenant as a person types it. */
function Typed(p: { tenant: string; known: Named[]; onChoose: (id: string) => void }) {
  const { say } = useSay()
  return (
    <form
      className="btns"
      onSubmit={(e) => {
        e.preventDefault()
        p.onChoose(String(new FormData(e.currentTarget).get('tenant')).trim())
      }}
    >
      <label>
        {say.outreach.tenant} <TenantID tenant={p.tenant} known={p.known} />
      </label>
      <button className="btn">{say.outreach.openTenant}</button>
    </form>
  )
}

interface Named {
  id: string
  name: string
}

/** TenantID is the field of the ID of a tenant, with those that are known to choose from. */
export function TenantID({ tenant, known, ...rest }: ComponentProps<'input'> & { tenant: string; known: Named[] }) {
  const list = useId()
  return (
    <>
      <input className="in m" name="tenant" required defaultValue={tenant} list={list} {...rest} />
      <datalist id={list}>
        {known.map((t) => (
          <option key={t.id} value={t.id} label={t.name} />
        ))}
      </datalist>
    </>
  )
}

/** TenantOptions are the options of a select of tenants: with none of them, until one that there is was chosen. */
export function TenantOptions({ tenants, chosen }: { tenants: Named[]; chosen: string }) {
  const { say } = useSay()
  return (
    <>
      {!tenants.some((t) => t.id === chosen) && <option value="">{say.outreach.choose}</option>}
      <Options of={tenants.map((t) => [t.id, t.name])} />
    </>
  )
}
