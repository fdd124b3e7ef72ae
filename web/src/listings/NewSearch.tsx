import { useEffect, useId, useRef, useState } from 'react'

import type { Schemas } from '../api/client'
import { Problem } from '../api/problem'
import { saveSearch, useDo, useSession, useTenants, type Filters } from '../api/queries'
import { useSay } from '../say/Say'
import { Ask, Close } from '../ui/Ask'
import { Do } from '../ui/Do'
import type { Field } from '../ui/Filter'
import { Empty, Options, Trouble } from '../ui/parts'
import { TenantID, TenantOptions, useTenant } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { Reading } from '../ui/Unread'
import { criteriaOf } from './criteria'
import { Once } from './RotateTarget'
import { inWords } from './savedWords'

type Kind = Schemas['TargetStart']['kind']

const addressOf = { webhook: 'url', email: 'email', telegram: 'chat' } as const

/** NewSearch saves the filters of the listings as a search, with a target of its notifications. */
export function NewSearch(p: { filters: Filters; fields: Field[]; onClose: () => void }) {
  const { say, language } = useSay()
  const t = say.saved
  const list = useTenants()
  const tenants = list.data?.items ?? []
  const tenant = useTenant()
  const own = useSession().data?.caller?.tenant
  const save = useDo(saveSearch, 'saved-searches')
  const kinds = Object.keys(t.kind) as Schemas['SavedSearch']['kinds']
  const [kind, setKind] = useState<Kind>('feed')
  const [news, setNews] = useState(kinds)
  const { filter, left } = criteriaOf(p.filters)
  const form = useRef<HTMLFormElement>(null)
  const id = useId()
  const about = save.error ? Problem.of(save.error).about() : []
  const wrong = (field: string) => about.includes(field) && { 'aria-invalid': true, 'aria-describedby': id }
  useEffect(() => {
    // The button that had the focus was disabled meanwhile.
    const at = (selector: string) => form.current?.querySelector<HTMLElement>(selector)
    if (save.error) (at('[aria-invalid]') ?? at('[type=submit]'))?.focus()
  }, [save.error])
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const target: Schemas['TargetStart'] = { kind }
    if (kind !== 'feed') target[addressOf[kind]] = text('address')
    save.mutate({
      tenant: text('tenant'),
      search: {
        name: text('name'),
        filter,
        kinds: news,
        schedule: { pace: text('pace') as Schemas['Schedule']['pace'] },
        language: text('language') as Schemas['SavedSearch']['language'],
        targets: [target],
      },
    })
  }
  return (
    <Ask title={t.create} held={save.isPending || !!save.data} onClose={p.onClose}>
      <h2>{t.create}</h2>
      {save.data ? (
        <Made search={save.data} tenant={save.variables.tenant} onClose={p.onClose} />
      ) : !own && !list.data ? (
        <>
          <Trouble error={list.error} again={() => void list.refetch()} />
          {list.isPending && <Reading />}
          <p className="btns">
            <Close onClick={p.onClose} />
          </p>
        </>
      ) : !own && tenants.length === 0 ? (
        <>
          <Empty>{say.outreach.noTenants}</Empty>
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
            submit(new FormData(e.currentTarget))
          }}
        >
          <p>{inWords(filter, say) || t.everything}</p>
          {left.length > 0 && (
            <p className="ochr">
              {t.without(left.map((n) => p.fields.find((f) => f.name === n)?.label ?? n).join(', '))}
            </p>
          )}
          {tenants.length > 0 && (
            <label>
              {say.outreach.tenant}
              {list.data?.more ? (
                <TenantID tenant={tenant} known={tenants} autoFocus />
              ) : (
                <select className="in" name="tenant" required autoFocus defaultValue={tenant}>
                  <TenantOptions tenants={tenants} chosen={tenant} />
                </select>
              )}
            </label>
          )}
          <label>
            {t.name}
            <input
              className="in"
              name="name"
              required
              autoFocus={tenants.length === 0} // the first field, which may come after the dialog
              maxLength={200}
              {...wrong('name')}
            />
          </label>
          <fieldset aria-describedby={id + 'kinds'}>
            <legend>{t.kinds}</legend>
            {kinds.map((k) => (
              <label key={k} className="check">
                <input
                  type="checkbox"
                  checked={news.includes(k)}
                  onChange={(e) => {
                    const { checked } = e.target
                    setNews((was) => kinds.filter((one) => (one === k ? checked : was.includes(one))))
                  }}
                />{' '}
                {t.kind[k]}
              </label>
            ))}
            <p className="ochr" role="status" id={id + 'kinds'}>
              {news.length === 0 && t.noKind}
            </p>
          </fieldset>
          <label>
            {t.target}
            <select
              className="in"
              value={kind}
              onChange={(e) => {
                setKind(e.target.value as Kind)
                save.reset() // what was wrong was the target before
              }}
              {...(kind === 'feed' && wrong('targets'))}
            >
              <Options of={Object.entries(t.targetKind)} />
            </select>
          </label>
          {kind !== 'feed' && (
            <label>
              {t.address[kind]}
              <input
                key={kind}
                className="in m"
                name="address"
                required
                type={kind === 'webhook' ? 'url' : kind === 'email' ? 'email' : 'text'}
                placeholder={kind === 'webhook' ? 'https://' : undefined}
                {...wrong('targets')}
              />
            </label>
          )}
          <label>
            {t.pace}
            <select className="in" name="pace">
              <Options of={Object.entries(t.paces)} />
            </select>
          </label>
          <label>
            {t.language}
            <select className="in" name="language" defaultValue={language}>
              <option value="en">English</option>
              <option value="fr">Français</option>
            </select>
          </label>
          <p className="mu">{t.fromNow}</p>
          <Trouble error={save.error} id={id} />
          <div className="btns">
            <Do type="submit" className="btn p" disabled={save.isPending || news.length === 0}>
              {say.save}
            </Do>
            <button type="button" className="btn" disabled={save.isPending} onClick={p.onClose}>
              {say.cancel}
            </button>
          </div>
        </form>
      )}
    </Ask>
  )
}

/** Made is what is shown of a search once: the secrets of its webhooks and the addresses of its feeds. */
function Made(p: { search: Schemas['SavedSearch']; tenant: string; onClose: () => void }) {
  const { say } = useSay()
  const t = say.saved
  const made = useRef<HTMLParagraphElement>(null)
  useEffect(() => made.current?.focus(), []) // the button that had the focus is gone
  return (
    <>
      <p ref={made} tabIndex={-1}>
        {t.made(p.search.name)}
      </p>
      <Once targets={p.search.targets} />
      <p className="btns">
        <ToPage className="btn p" to="/searches" search={{ tenant: p.tenant || undefined, search: p.search.id }}>
          {t.title}
        </ToPage>
        <Close onClick={p.onClose} />
      </p>
    </>
  )
}
