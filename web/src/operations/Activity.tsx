import { useAudit } from '../api/queries'
import { useSay } from '../say/Say'
import { At } from '../ui/Age'
import { FilterBar, Nothing, useFilters, type Field } from '../ui/Filter'
import { endOf, startOf } from '../ui/filters'
import { Head } from '../ui/parts'
import { Rows } from '../ui/Rows'
import { ToPage } from '../ui/ToPage'

const pages: Record<string, string> = {
  'dead-letter': '/dead-letters/',
  replay: '/replays/',
  listing: '/listings/',
  platform: '/platforms/',
  'crawl-run': '/crawl/',
  draft: '/drafts/',
  'crawl-request': '/drafts/requests/',
  upload: '/uploads/',
  campaign: '/campaigns/',
  message: '/messages/',
}

const ofTenants = ['upload', 'campaign', 'message'] // their pages are found in a tenant only

/** pageOf is the page of what something was done to, "" where there is none or its tenant is not known. */
export function pageOf(subject: string, tenant?: string) {
  const [kind, id, more] = subject.split('/')
  if (!id || !pages[kind!] || (ofTenants.includes(kind!) && !tenant)) return ''
  if (kind === 'platform') return `/platforms/${id}${more ? `/searches/${more}` : ''}`
  return more ? '' : pages[kind!] + id
}

/** tenantOf is the tenant that an entry names, in which its page is found. */
const tenantOf = (detail: unknown) => {
  const { tenant } = (detail ?? {}) as { tenant?: unknown }
  return typeof tenant === 'string' ? tenant : undefined
}

function Subject({ subject, detail }: { subject: string; detail: unknown }) {
  const tenant = tenantOf(detail)
  const to = pageOf(subject, tenant)
  if (!to) return <span className="m">{subject}</span>
  return (
    <ToPage className="m" to={to} search={{ tenant }}>
      {subject}
    </ToPage>
  )
}

/** detailOf is what an entry says beside its subject, without what is empty. */
export function detailOf(detail: unknown) {
  const full = Object.entries(detail ?? {}).filter(([, v]) => v !== '' && v !== null)
  return full.length === 0 ? '' : JSON.stringify(Object.fromEntries(full))
}

/** Activity is the audit: who changed what. */
export function Activity() {
  const { say, zone } = useSay()
  const t = say.audit
  const [filters] = useFilters()
  const entries = useAudit({ ...filters, since: startOf(filters.since, zone), until: endOf(filters.until, zone) })
  const fields: Field[] = [
    { name: 'actor', label: t.actor, several: true },
    { name: 'action', label: t.action, several: true },
    { name: 'subject', label: t.subject },
    { name: 'since', label: t.since, kind: 'date' },
    { name: 'until', label: t.until, kind: 'date' },
  ]
  return (
    <>
      <Head title={t.title}>
        <p>{t.intro}</p>
      </Head>
      <FilterBar fields={fields} />
      <Rows
        label={t.title}
        pages={entries}
        id={(e) => String(e.id)}
        empty={<Nothing fields={fields} never={t.never} />}
        columns={[
          { name: 'at', head: t.at, cell: (e) => <At at={e.at} /> },
          { name: 'actor', head: t.actor, cell: (e) => <b>{e.actor}</b> },
          { name: 'action', head: t.action, cell: (e) => e.action },
          { name: 'subject', head: t.subject, cell: (e) => <Subject subject={e.subject} detail={e.detail} /> },
          {
            name: 'detail',
            head: t.detail,
            className: 'cut',
            cell: (e) => {
              const text = detailOf(e.detail)
              return (
                <span className="m mu" title={text}>
                  {text}
                </span>
              )
            },
          },
        ]}
      />
    </>
  )
}
