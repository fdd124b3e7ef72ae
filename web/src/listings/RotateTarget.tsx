import { useEffect, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { rotateTarget, useDo } from '../api/queries'
import { useSay } from '../say/Say'
import { Ask, Close } from '../ui/Ask'
import { Do } from '../ui/Do'
import { At } from '../ui/Age'
import { Copy, Options, Trouble } from '../ui/parts'
import { nameOf } from './savedWords'

type Target = Schemas['SearchTarget']

/** canRotate says that a target has something to rotate: the secret of a webhook or the addresses of a feed. */
export const canRotate = (to: Pick<Target, 'kind'>) => to.kind === 'webhook' || to.kind === 'feed'

/** RotateTarget gives a webhook a new secret, or a feed new addresses, and shows them this once. */
export function RotateTarget(p: { tenant: string; search: string; target: Target; onClose: () => void }) {
  const { say } = useSay()
  const t = say.saved
  const rotate = useDo(rotateTarget, 'saved-searches')
  const [overlap, setOverlap] = useState('24')
  const made = useRef<HTMLParagraphElement>(null)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // The button that had the focus is gone, or was disabled meanwhile.
    if (rotate.data) made.current?.focus()
    else if (rotate.error) form.current?.querySelector<HTMLElement>('[type=submit]')?.focus()
  }, [rotate.data, rotate.error])
  const webhook = p.target.kind === 'webhook'
  const title = webhook ? t.newSecret : t.newAddress
  return (
    <Ask title={title} held={rotate.isPending || !!rotate.data} onClose={p.onClose}>
      <h2>{title}</h2>
      {rotate.data ? (
        <>
          <p ref={made} tabIndex={-1}>
            {t.rotated}
          </p>
          <Once targets={[rotate.data]} />
          {rotate.data.before_until && (
            <p>
              {t.beforeUntil} <At at={rotate.data.before_until} />
            </p>
          )}
          <p className="btns">
            <Close onClick={p.onClose} />
          </p>
        </>
      ) : (
        <form
          ref={form}
          className="form"
          onSubmit={(e) => {
            e.preventDefault()
            rotate.mutate({ tenant: p.tenant, id: p.search, target: p.target.id, overlap: Number(overlap) })
          }}
        >
          <p>
            <b>{nameOf(p.target, say)}</b>
          </p>
          {webhook ? (
            <label>
              {t.overlap}
              <select className="in" autoFocus value={overlap} onChange={(e) => setOverlap(e.target.value)}>
                <Options of={Object.entries(t.overlaps)} />
              </select>
            </label>
          ) : (
            <p>{t.newAddressAsk}</p>
          )}
          <Trouble error={rotate.error} />
          <div className="btns">
            <Do type="submit" className="btn p" disabled={rotate.isPending}>
              {title}
            </Do>
            <button type="button" className="btn" disabled={rotate.isPending} onClick={p.onClose}>
              {say.cancel}
            </button>
          </div>
        </form>
      )}
    </Ask>
  )
}

/** Once is what is shown of targets once: the secrets of webhooks and the addresses of feeds. */
export function Once({ targets }: { targets: Target[] }) {
  const { say } = useSay()
  const t = say.saved
  return (
    <>
      {targets.map((to) => (
        <dl className="kv" key={to.id}>
          <dt>{t.targetKind[to.kind]}</dt>
          <dd>{to.state === 'active' ? to.label : `${to.label ?? ''} (${t.targetState[to.state]})`}</dd>
          {Object.entries({ [t.secret]: to.secret, JSON: to.json_url, Atom: to.atom_url }).map(
            ([name, value]) =>
              value && [
                <dt key={name}>{name}</dt>,
                <dd key={name + ' of it'}>
                  <Copy text={value} />
                </dd>,
              ],
          )}
        </dl>
      ))}
      {targets.some((to) => to.secret || to.json_url) && <p className="ochr">{t.once}</p>}
    </>
  )
}
