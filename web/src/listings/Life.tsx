import type { Schemas } from '../api/client'
import { useRents } from '../api/queries'
import { day, money } from '../say/format'
import { useSay } from '../say/Say'
import { Empty } from '../ui/parts'
import { firstOfYear, mediansOf, stepsOf } from './medians'

const mostYears = 9 // of medians; an older advert is drawn without those before

/** Life draws the rent over time as steps, with the medians of the place month by month, and the revisions. */
export function Life({ advert: a }: { advert: Schemas['Advert'] }) {
  const { say, language, zone } = useSay()
  const steps = a.history
    .filter((h) => h.new_rent_cents != null)
    .map((h) => ({ at: Date.parse(h.at), rent: h.new_rent_cents! }))
  const from = Math.min(steps[0]?.at ?? Infinity, Date.parse(a.audit.first_scraped_at))
  const until = Math.max(Date.now(), from + 60_000)
  const like = a.rent_comparison
  const bedrooms = a.listing?.bedrooms
  const since = firstOfYear(Math.max(from, until - mostYears * 365 * 86_400_000))
  const known = useRents(like?.scope ?? 'borough', bedrooms ?? 0, since, !!like && bedrooms !== undefined)
  if (steps.length === 0) return <Empty>{say.none}</Empty>
  const [w, h, left, top, bottom] = [478, 190, 52, 16, 150]
  const median = like?.median_cents
  const medians = mediansOf(known.data?.groups ?? [], like?.place ?? '', bedrooms ?? 0, from, until)
  const rents = [...steps.map((s) => s.rent), ...medians.map((m) => m.cents), ...(median ? [median] : [])]
  const spread = Math.max(...rents) - Math.min(...rents)
  const low = Math.min(...rents) - Math.max(spread * 0.3, 5_000)
  const high = Math.max(...rents) + Math.max(spread * 0.3, 5_000)
  const x = (at: number) => left + ((at - from) / (until - from)) * (w - left - 2)
  const y = (rent: number) => top + ((high - rent) / (high - low)) * (bottom - top)
  let line = ''
  steps.forEach((s, i) => (line += i === 0 ? `M${x(s.at)} ${y(s.rent)}` : `H${x(s.at)}V${y(s.rent)}`))
  line += `H${w - 2}`
  const last = steps.at(-1)!
  const where = like?.place || say.listing.otherCities
  const replays = a.way.filter((s, i) => s.pass > 0 && a.way[i - 1]?.pass !== s.pass && Date.parse(s.at) >= from)
  return (
    <svg
      className="life"
      viewBox={`0 0 ${w} ${h}`}
      width="100%"
      role="img"
      aria-label={
        steps.map((s) => `${day(new Date(s.at), zone, language)}: ${money(s.rent)}`).join(', ') +
        (medians.length > 1
          ? `; ${say.listing.medians(where)} ${medians.map((m) => `${day(new Date(m.from), zone, language)} ${money(m.cents)}`).join(', ')}`
          : '')
      }
    >
      <path d={`${line}V${bottom}H${x(steps[0]!.at)}Z`} fill="var(--verdw)" opacity=".6" />
      {median && (
        <>
          <path
            d={medians.length > 0 ? stepsOf(medians, x, y) : `M${left} ${y(median)}H${w - 2}`}
            fill="none"
            stroke="var(--ink3)"
            strokeDasharray="2 3"
          />
          <text x={left} y={y(median) - 4}>
            {say.listing.medianLine(money(median), where)}
          </text>
        </>
      )}
      <path d={line} fill="none" stroke="var(--verdg)" strokeWidth="1.8" />
      <text className="v" x={Math.min(x(steps[0]!.at), w - 130)} y={y(steps[0]!.rent) - 5}>
        {money(steps[0]!.rent)}
      </text>
      {steps.length > 1 && (
        <text
          className="v"
          x={w - 2}
          y={y(last.rent) + (last.rent < steps.at(-2)!.rent ? 15 : -5)} // away from the step
          textAnchor="end"
        >
          {money(last.rent)}
        </text>
      )}
      <path d={`M${left} 170H${w - 2}`} stroke="var(--ink)" strokeWidth="1.6" />
      {a.audit.revisions.slice(-12).map((r) => (
        <g key={r.revision}>
          <circle
            cx={x(Date.parse(r.received_at))}
            cy="170"
            r="4.2"
            fill="var(--paper)"
            stroke="var(--ink)"
            strokeWidth="1.6"
          >
            <title>{say.listing.revision(r.revision)}</title>
          </circle>
        </g>
      ))}
      {replays.map((s) => (
        <circle key={`${s.revision} ${s.pass}`} cx={x(Date.parse(s.at))} cy="170" r="4.2" fill="var(--ink3)">
          <title>{say.listing.pass(s.pass)}</title>
        </circle>
      ))}
      <text x={w - 2} y="187" textAnchor="end">
        {say.listing.now}
      </text>
      <text x={left} y="187">
        {day(new Date(from), zone, language)}
      </text>
    </svg>
  )
}
