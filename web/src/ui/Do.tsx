import type { ComponentProps } from 'react'

import { starting, useAway, useMay, type Role } from '../api/queries'
import { named } from '../say/format'
import { useSay } from '../say/Say'

/** Do is a button that changes something. A caller without the role sees it, disabled, with the role that it needs;
 * and so does everybody while a service is away that every change needs. */
export function Do({
  role = 'operate',
  disabled,
  title,
  className = 'btn',
  ...rest
}: ComponentProps<'button'> & { role?: Role }) {
  const { say } = useSay()
  const may = useMay(role)
  const away = useAway().filter((service) => starting.includes(service))
  const why = !may
    ? say.needsRole(named(say.code.role, role))
    : away.length > 0
      ? say.needsService(away.join(', '))
      : undefined
  return <button className={className} disabled={disabled || why !== undefined} title={why ?? title} {...rest} />
}
