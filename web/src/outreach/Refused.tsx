import type { Schemas } from '../api/client'
import { useMay, useRefusalReasons, useRefusals } from '../api/queries'
import { count, named } from '../say/format'
import { useSay } from '../say/Say'
import { useFilters } from '../ui/Filter'
import { Empty, Section, Trouble } from '../ui/parts'
import { Rows } from '../ui/Rows'

const counted = 10_000 // rows: the API counts no more by reason

/** Refused are the rows of a file that are no contacts: by reason, then each with its line, field and masked value. */
export function Refused({ tenant, upload: u }: { tenant: string; upload: Schemas['Upload'] }) {
  const { say, language } = useSay()
  const t = say.outreach
  const [filters, change] = useFilters()
  const code = filters.code ?? ''
  const reasons = useRefusalReasons(tenant, u.id, u.rows.invalid)
  const may = useMay('operate') // values of rows are personal
  const rows = useRefusals(tenant, u.id, code, may)
  const most = reasons.data?.items[0]?.rows ?? 1
  return (
    <>
      <Section
        title={t.byReason}
        note={
          count(u.rows.invalid, language) +
          (u.rows.invalid > counted ? `, ${t.firstCounted(count(counted, language))}` : '')
        }
      >
        <Trouble error={reasons.error} />
        {!!u.rows.unlisted && <p className="ochr">{t.unlisted(u.rows.unlisted, count(u.rows.unlisted, language))}</p>}
        <table className="why">
          <tbody>
            {reasons.data?.items.map((r) => (
              <tr key={r.code + r.field}>
                <td>
                  <button
                    className="btn q"
                    aria-pressed={code === r.code}
                    onClick={() => change({ code: code === r.code ? '' : r.code })}
                  >
                    {r.field && <b>{named(say.code.contact, r.field)}</b>} {named(t.problems, r.code)}
                  </button>
                </td>
                <td className="b">
                  <i style={{ width: `${(100 * r.rows) / most}%` }} />
                </td>
                <td className="r">{count(r.rows, language)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      {may && (
        <Section
          title={t.refusedRows}
          note={code ? named(t.problems, code) : t.masked}
          go={
            code && (
              <button className="btn q" onClick={() => change({ code: '' })}>
                {say.clear}
              </button>
            )
          }
        >
          <Rows
            label={t.refusedRows}
            pages={rows}
            id={(r) => String(r.row)}
            empty={<Empty>{say.none}</Empty>}
            columns={[
              { name: 'line', head: t.line, className: 'r', cell: (r) => count(r.line, language) },
              {
                name: 'field',
                head: say.listing.field,
                className: 'gap',
                cell: (r) => r.problems.map((p) => (p.field ? named(say.code.contact, p.field) : '–')).join(', '),
              },
              {
                name: 'value',
                head: say.listing.value,
                cell: (r) => <span className="m">{r.problems.map((p) => p.value ?? '').join(', ')}</span>,
              },
              {
                name: 'reason',
                head: t.why,
                className: 'cut gap',
                cell: (r) => (
                  <span className="verm">{r.problems.map((p) => named(t.problems, p.code)).join('; ')}</span>
                ),
              },
            ]}
          />
        </Section>
      )}
    </>
  )
}
