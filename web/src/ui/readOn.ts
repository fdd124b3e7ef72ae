import { useEffect } from 'react'

/** Paged is what reading on needs to know of a list that is read page by page. */
interface Paged {
  hasNextPage: boolean
  isFetching: boolean
  isFetchNextPageError: boolean
}

/**
 * wantsMore reports whether the next page of a list is to be asked for. One that was refused is not: it would be refused
 * again at once, without end. It is asked for when the list was read again, which a next page would end before its time.
 */
export const wantsMore = (p: Paged) => p.hasNextPage && !p.isFetching && !p.isFetchNextPageError

/** readsOn is what reads the next page of a list of choices when it is asked for; undefined where there is none. */
export const readsOn = (pages: Pick<Paged, 'hasNextPage'> & { fetchNextPage: () => unknown }) =>
  pages.hasNextPage ? () => void pages.fetchNextPage() : undefined

/** useReadOn reads the next page of a list while its end is near what is looked at. */
export function useReadOn(pages: Paged & { fetchNextPage: () => unknown }, near: boolean) {
  const { fetchNextPage } = pages
  const wanted = near && wantsMore(pages)
  useEffect(() => {
    if (wanted) void fetchNextPage()
  }, [wanted, fetchNextPage])
}
