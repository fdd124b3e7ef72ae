import type { Schemas } from '../api/client'
import { useRunRate } from '../api/crawl'
import { decimal, tick } from '../say/format'
import { useSay } from '../say/Say'
import { Chart } from '../ui/Chart'
import { Section, Trouble } from '../ui/parts'

const minute = 60 // seconds
const windows = [10, 30, 60, 180, 720, 1440, 4320, 43200].map((m) => m * minute)

/** Rate is how many pages a second a run has done, over all of it or its last thirty days. */
export function Rate({ run }: { run: Schemas['CrawlSummary'] }) {
  const { say, language, zone } = useSay()
  const t = say.run
  const end = run.finished_at ? Date.parse(run.finished_at) : Date.now()
  const seconds = (end - Date.parse(run.started_at)) / 1000
  const window = windows.find((w) => w >= seconds) ?? windows.at(-1)!
  const rate = useRunRate(run.id, window, run.status === 'RUNNING')
  const begun = Date.parse(run.started_at) - (rate.data?.slice_seconds ?? 0) * 1000
  const slices = rate.data?.slices.filter((s) => Date.parse(s.at) >= begun) ?? []
  return (
    <Section
      title={t.perSecond}
      note={run.pace.mean_ms > 0 ? t.meanTook(decimal(run.pace.mean_ms, language)) : undefined}
    >
      <Trouble error={rate.error} />
      <Chart
        label={t.perSecond}
        points={slices}
        lines={[{ name: t.perSecond, colour: 'var(--verdg)', fill: true, of: (one) => one.pages_per_second }]}
        time={(at) => tick(at, window, zone, language)}
        value={(v) => decimal(v, language)}
        head={t.when}
        empty={t.noRate}
      />
    </Section>
  )
}
