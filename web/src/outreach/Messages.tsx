import type { Schemas } from '../api/client'
import { noCampaign, useCampaigns, useMessages, type Filters } from '../api/queries'
import { named } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { anyOf, FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Head, Trouble } from '../ui/parts'
import { readsOn } from '../ui/readOn'
import { Rows } from '../ui/Rows'
import { notFilters, Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import './outreach.css'

export const messageGlyph: Record<Schemas['Message']['state'], State> = {
  queued: 'idle',
  sending: 'changed',
  unknown: 'look',
  sent: 'done',
  delivered: 'done',
  read: 'done',
  failed: 'failed',
  skipped: 'idle',
}

/** Messages are those of a campaign, the one of the address or the newest one, or those of none, to one person each. */
export function Messages() {
  const { say } = useSay()
  const t = say.outreach
  const tenant = useTenant()
  const [filters] = useFilters()
  const ofOne = useOfOne()
  return (
    <>
      <Head title={say.nav.messages} actions={<Tenants its={['campaign']} />}>
        <p>{t.messagesIntro}</p>
      </Head>
      {!ofOne && <Whose />}
      {ofOne && <OfTenant tenant={tenant} filters={filters} />}
    </>
  )
}

function OfTenant({ tenant, filters }: { tenant: string; filters: Filters }) {
  const { say } = useSay()
  const t = say.outreach
  const campaigns = useCampaigns({ tenant })
  const read = campaigns.isPlaceholderData ? undefined : campaigns.data // not those of the tenant before
  const all = read?.pages.flatMap((p) => p.items) ?? []
  const { campaign, tenant: _, ...which } = filters
  const first = all[0]
  const chosen = campaign ?? first?.id ?? (read ? noCampaign : '')
  const messages = useMessages(tenant, chosen, which)
  const fields: Field[] = [
    {
      name: 'campaign',
      label: t.campaign,
      usual: first?.id ?? noCampaign,
      options: [...all.map((c) => ({ value: c.id, label: c.name })), { value: noCampaign, label: t.ofNone }],
      readOn: readsOn(campaigns),
    },
    ...messageFields(t),
  ]
  return (
    <>
      <FilterBar fields={fields} also={notFilters} />
      <Trouble error={campaigns.error} again={() => void campaigns.refetch()} />
      {chosen && (
        <List
          tenant={tenant}
          messages={messages}
          fields={fields}
          never={chosen === noCampaign ? t.neverToOne : undefined}
        />
      )}
    </>
  )
}

/** messageFields are the filters of messages. */
export const messageFields = (t: ReturnType<typeof useSay>['say']['outreach']): Field[] => [
  anyOf('state', t.state, t.messageStates),
  anyOf('class', t.cause, t.causes),
  { name: 'code', label: t.code, kind: 'number' },
]

/** List is a table of messages. Whole numbers are not in it. */
export function List(p: {
  tenant: string
  messages: ReturnType<typeof useMessages>
  fields: Field[]
  never?: string // what to say where there is none at all
}) {
  const { say } = useSay()
  const t = say.outreach
  return (
    <Rows
      label={say.nav.messages}
      className="named"
      pages={p.messages}
      id={(m) => m.id}
      empty={<Nothing fields={p.fields} never={p.never ?? t.noMessages} />}
      columns={[
        {
          name: 'to',
          head: t.to,
          cell: (m) => (
            <>
              <Glyph state={messageGlyph[m.state]} />
              <ToPage className="m" to="/messages/$id" of={m.id} search={{ tenant: p.tenant }}>
                {m.to || m.id.slice(0, 8)}
              </ToPage>
            </>
          ),
        },
        { name: 'state', head: t.state, className: 'gap', cell: (m) => t.messageStates[m.state] },
        { name: 'tries', head: t.tries, className: 'r', cell: (m) => m.attempts },
        {
          name: 'cause',
          head: t.cause,
          className: 'cut gap',
          cell: (m) =>
            m.class && (
              <span className={m.state === 'failed' ? 'verm' : 'mu'} title={m.error}>
                {named(t.causes, m.class)}
                {!!m.code && ` (${m.code})`}
              </span>
            ),
        },
        { name: 'at', head: t.queued, className: 'r', cell: (m) => <Age at={m.queued_at} /> },
      ]}
    />
  )
}
