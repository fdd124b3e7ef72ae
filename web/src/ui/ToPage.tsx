import { Link } from '@tanstack/react-router'
import type { ComponentProps } from 'react'

type Props = Omit<ComponentProps<typeof Link>, 'to' | 'params' | 'search'> & {
  to: string
  of?: string | number // the $id in it
  params?: Record<string, string>
  search?: object | ((was: Record<string, unknown>) => object)
}

/** ToPage is a link to a page of the console. The router does not know the types of pages: a table makes them. */
export function ToPage({ of, ...p }: Props) {
  const params = of === undefined ? p.params : { id: String(of) }
  return <Link {...({ ...p, params } as ComponentProps<typeof Link>)} />
}
