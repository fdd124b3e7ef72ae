import { useContactLists, useSegments, useSenders, useTenants } from '../api/queries'
import { count } from '../say/format'
import { useSay } from '../say/Say'
import { Age } from '../ui/Age'
import { Glyph } from '../ui/Glyph'
import { Empty, Head, Heads, Section, Trouble } from '../ui/parts'
import { Tenants, useOfOne, useTenant, Whose } from '../ui/tenant'
import './outreach.css'

/** Contacts are what a tenant's campaigns are made of: its lists, saved filters and numbers. Persons are not shown. */
export function Contacts() {
  const { say, language } = useSay()
  const t = say.outreach
  const tenant = useTenant()
  const tenants = useTenants()
  const ofOne = useOfOne()
  const lists = useContactLists(tenant, ofOne)
  const segments = useSegments(tenant, ofOne)
  const senders = useSenders(tenant, ofOne)
  const all = tenants.data?.items.find((one) => one.id === tenant)?.contacts
  const n = (v: number) => count(v, language)
  return (
    <>
      <Head title={say.nav.contacts} actions={<Tenants />}>
        <p>
          {t.contactsIntro} {all !== undefined && t.contactsOf(all, n(all))}
        </p>
      </Head>
      {!ofOne && <Whose />}
      {ofOne && (
        <>
          <Table
            title={t.lists}
            of={lists}
            heads={[t.members, t.created]}
            rows={lists.data?.items.map((l) => ({
              id: l.id,
              name: l.name,
              cells: [n(l.members ?? 0), <Age key="at" at={l.created_at} />],
            }))}
          />
          <Table
            title={t.segments}
            of={segments}
            heads={[t.filter, t.created]}
            rows={segments.data?.items.map((s) => ({
              id: s.id,
              name: s.name,
              cells: [
                <span key="filter" className="m wrap">
                  {JSON.stringify(s.filter)}
                </span>,
                <Age key="at" at={s.created_at} />,
              ],
            }))}
          />
          <Table
            title={t.senders}
            of={senders}
            heads={[t.state, t.atMost]}
            rows={senders.data?.items.map((s) => ({
              id: s.id,
              name: s.name,
              cells: [
                <span key="state" className="wrap">
                  <Glyph state={s.state === 'active' ? 'done' : s.state === 'paused' ? 'look' : 'failed'} />
                  {t.senderStates[s.state]} <bdi>{s.reason}</bdi>
                </span>,
                t.perSecond(n(s.per_second)),
              ],
            }))}
          />
        </>
      )}
    </>
  )
}

interface Row {
  id: string
  name: string
  cells: [React.ReactNode, React.ReactNode]
}

function Table(p: { title: string; of: { error: unknown }; heads: [string, string]; rows: Row[] | undefined }) {
  const { say } = useSay()
  return (
    <Section title={p.title} note={p.rows?.length} wide>
      <Trouble error={p.of.error} />
      {p.rows?.length === 0 && <Empty>{say.none}</Empty>}
      {!!p.rows?.length && (
        <table>
          <Heads of={[say.outreach.name, p.heads[0], [p.heads[1], 'r']]} />
          <tbody>
            {p.rows.map((r) => (
              <tr key={r.id}>
                <td className="s">{r.name}</td>
                <td>{r.cells[0]}</td>
                <td className="r">{r.cells[1]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  )
}
