import type { ErrorComponentProps } from '@tanstack/react-router'

import { Problem } from '../api/problem'
import { Head, Trouble } from '../ui/parts'
import { useSay } from '../say/Say'

/** Boundary shows that a page failed; the rail and other pages go on. A file that is gone means a newer version. */
export function Boundary({ error, reset }: ErrorComponentProps<unknown>) {
  const { say } = useSay()
  if (
    /dynamically imported module|module script failed|unable to preload css/i.test(
      error instanceof Error ? error.message : '',
    )
  ) {
    return (
      <div className="empty" role="alert">
        <button className="btn p" onClick={() => location.reload()}>
          {say.newVersion}
        </button>
      </div>
    )
  }
  return (
    <>
      <p className="empty">{say.crashed}</p>
      {error instanceof Problem ? (
        <Trouble error={error} again={reset} />
      ) : (
        <div className="problem" role="alert">
          <p className="m" lang="en">
            {String(error)}
          </p>
          <button className="btn" onClick={reset}>
            {say.tryAgain}
          </button>
        </div>
      )}
    </>
  )
}

export function Missing() {
  const { say } = useSay()
  return <Head title={say.notFound} />
}
