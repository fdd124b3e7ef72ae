import { useState } from 'react'

import type { Schemas } from '../api/client'
import { useCampaigns, useSession, useShares } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Do } from '../ui/Do'
import { anyOf, FilterBar, Nothing, useFilters } from '../ui/Filter'
import { Glyph, type State } from '../ui/Glyph'
import { Head, Heads, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { notFilters, Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import { ToPage } from '../ui/ToPage'
import { funnel } from './funnel'
import { NewCampaign } from './NewCampaign'
import './outreach.css'

export const campaignGlyph: Record<Schemas['Campaign']['state'], State> = {
  draft: 'idle',
  queued: 'changed',
  running: 'changed',
  paused: 'look',
  done: 'done',
  canceled: 'idle',
}

/** Campaigns are the messages that a tenant sends to many. */
export function Campaigns() {
  const { say, language } = useSay()
  const t = say.outreach
  const tenant = useTenant()
  const [filters] = useFilters()
  const ofOne = useOfOne()
  const campaigns = useCampaigns({ ...filters, tenant }, ofOne)
  const [making, make] = useState(false)
  const n = (v: number) => count(v, language)
  const fields = [anyOf('state', t.state, t.campaignStates)]
  return (
    <>
      <Head
        title={say.nav.campaigns}
        actions={
          <>
            <Tenants />
            {ofOne && <Do onClick={() => make(true)}>{t.newCampaign}</Do>}
          </>
        }
      >
        <p>{t.campaignsIntro}</p>
      </Head>
      {making && <NewCampaign tenant={tenant} onClose={() => make(false)} />}
      <Shares />
      {!ofOne && <Whose />}
      {ofOne && <FilterBar fields={fields} also={notFilters} />}
      {ofOne && (
        <Rows
          label={say.nav.campaigns}
          className="named"
          pages={campaigns}
          id={(c) => c.id}
          empty={<Nothing fields={fields} never={t.neverCampaigns} />}
          columns={[
            {
              name: 'name',
              head: t.name,
              className: 'cut',
              cell: (c) => (
                <>
                  <Glyph state={campaignGlyph[c.state]} />
                  <ToPage className="s" to="/campaigns/$id" of={c.id} search={{ tenant }}>
                    {c.name}
                  </ToPage>
                </>
              ),
            },
            { name: 'state', head: t.state, cell: (c) => t.campaignStates[c.state] },
            ...(['total', 'sent', 'delivered', 'read', 'failed'] as const).map((name) => ({
              name,
              head: t.counts[name],
              className: 'r',
              cell: (c: Schemas['Campaign']) => n(funnel(c.counts).find((step) => step.name === name)!.n),
            })),
            { name: 'at', head: t.created, className: 'r', cell: (c) => <Age at={c.created_at} /> },
          ]}
        />
      )}
    </>
  )
}

/** Shares are the tenants that send now: each at the pace of its own tier, whatever others send. */
function Shares() {
  const { say, language } = useSay()
  const t = say.outreach
  const asked = useShares(!useSession().data?.caller?.tenant)
  const shares = asked.data?.items ?? []
  const n = (v: number) => count(v, language)
  if (shares.length === 0) return null
  const waiting = shares.reduce((sum, s) => sum + s.waiting, 0)
  return (
    <Section title={t.shares} note={t.sharesNote} wide>
      <Trouble error={asked.error} />
      <table>
        <Heads
          of={[
            t.tenant,
            t.tier,
            [say.nav.campaigns, 'r'],
            [t.counts.waiting, 'r'],
            [t.ofWaiting, 'gap'],
            [t.atMost, 'r'],
            [t.today, 'r'],
          ]}
        />
        <tbody>
          {shares.map((s) => (
            <tr key={s.tenant}>
              <td>
                <Glyph state={s.state === 'stopped' ? 'look' : s.running > 0 ? 'changed' : 'idle'} />
                <ToPage to="/campaigns" search={{ tenant: s.tenant }}>
                  {s.name}
                </ToPage>
              </td>
              <td>{t.tiers[s.tier]}</td>
              <td className="r">{t.runningPaused(s.running, s.paused)}</td>
              <td className="r">{n(s.waiting)}</td>
              <td className="gap">
                <i className="bar" style={{ width: waiting > 0 ? (120 * s.waiting) / waiting : 0 }} />
                {waiting > 0 && `${Math.round((100 * s.waiting) / waiting)} %`}
              </td>
              <td className="r">{t.perSecond(n(s.per_second))}</td>
              <td className="r">
                {s.max_messages_day === undefined ? '–' : say.doneOf(n(s.sent_today), n(s.max_messages_day))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  )
}
