import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useMake } from '../api/once'
import { createCampaign, useContactLists, useSenders } from '../api/queries'
import { useSay } from '../say/Say'
import { Ask } from '../ui/Ask'
import { Do } from '../ui/Do'
import { Options, Trouble } from '../ui/parts'

/** NewCampaign makes a draft: nothing is sent before it is started, on its page. */
export function NewCampaign({ tenant, onClose }: { tenant: string; onClose: () => void }) {
  const { say } = useSay()
  const t = say.outreach
  const navigate = useNavigate()
  const create = useMake(createCampaign, 'campaigns')
  const senders = useSenders(tenant, true)
  const lists = useContactLists(tenant, true)
  const [kind, setKind] = useState<'template' | 'text'>('template')
  const [to, setTo] = useState<'all' | 'tags' | 'list'>('tags')
  const submit = (form: FormData) => {
    const text = (name: string) => String(form.get(name) ?? '').trim()
    const parameters = text('parameters')
      .split('\n')
      .map((p) => p.trim())
    const body = parameters.filter(Boolean).map((p) => ({ type: 'text', text: p }))
    const plan: Schemas['CampaignPlan'] = {
      name: text('name'),
      sender: text('sender'),
      template:
        kind === 'text'
          ? { type: 'text', text: { body: text('body') } }
          : {
              type: 'template',
              template: {
                name: text('template'),
                language: { code: text('language') },
                ...(body.length > 0 && { components: [{ type: 'body', parameters: body }] }),
              },
            },
      audience: (to === 'all'
        ? { all: true }
        : { to: to === 'tags' ? { tags: words(text('tags')) } : { lists: [text('list')] } }) as never,
    }
    create.mutate(
      { tenant, plan },
      {
        onSuccess: (c) => void navigate({ to: `/campaigns/${c.id}` as '/', search: { tenant } as never }),
      },
    )
  }
  return (
    <Ask title={t.newCampaign} held={create.isPending} onClose={onClose}>
      <h2>{t.newCampaign}</h2>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault()
          submit(new FormData(e.currentTarget))
        }}
      >
        <label>
          {t.name}
          <input className="in" name="name" required maxLength={200} />
        </label>
        <label>
          {t.sender}
          <select className="in" name="sender" required>
            <Options of={senders.data?.items.map((s) => [s.id, s.name])} />
          </select>
        </label>
        {senders.data?.items.length === 0 && <p className="ochr">{t.noSender}</p>}
        <label>
          {t.whatKind}
          <select className="in" value={kind} onChange={(e) => setKind(e.target.value as 'template')}>
            <option value="template">{t.template}</option>
            <option value="text">{t.text}</option>
          </select>
        </label>
        {kind === 'text' ? (
          <label>
            {t.text}
            <textarea className="in" name="body" required rows={4} maxLength={4096} />
          </label>
        ) : (
          <>
            <label>
              {t.template}
              <input className="in m" name="template" required pattern="[a-z0-9_]+" />
            </label>
            <label>
              {t.language}
              <input className="in m" name="language" required defaultValue="fr" />
            </label>
            <label>
              {t.parameters}
              <textarea className="in m" name="parameters" rows={3} placeholder="{{given_name|vous}}" />
            </label>
          </>
        )}
        <label>
          {t.audience}
          <select className="in" value={to} onChange={(e) => setTo(e.target.value as 'all')}>
            <option value="tags">{t.withTags}</option>
            <option value="list">{t.ofList}</option>
            <option value="all">{t.everyone}</option>
          </select>
        </label>
        {to === 'tags' && (
          <label>
            {t.tags}
            <input className="in" name="tags" required />
          </label>
        )}
        {to === 'list' && (
          <label>
            {t.list}
            <select className="in" name="list" required>
              <Options of={lists.data?.items.map((l) => [l.id, l.name])} />
            </select>
          </label>
        )}
        <p className="mu">{t.draftNote}</p>
        <Trouble error={create.error ?? senders.error ?? lists.error} />
        <div className="btns">
          <Do
            type="submit"
            className="btn p"
            disabled={create.isPending || !senders.data?.items.length || (to === 'list' && !lists.data)}
          >
            {t.createDraft}
          </Do>
          <button type="button" className="btn" disabled={create.isPending} onClick={onClose}>
            {say.cancel}
          </button>
        </div>
      </form>
    </Ask>
  )
}

/** words splits a list that commas or line ends part. */
export const words = (text: string) =>
  text
    .split(/[,\n]/)
    .map((w) => w.trim())
    .filter(Boolean)
