import { useCallback, useEffect, useState } from 'react'
import type { PanelBlock, PanelColumn, PanelUnit, PanelValue } from '../../src/views/panel.ts'
import { Blocks } from '../blocks/block.tsx'
import type { Report } from '../data/source.ts'
import { Button } from '../design/controls.tsx'
import { capitalize } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { ErrorState, LoadingRows } from '../design/notice.tsx'
import { usePage } from '../shell/page-context.ts'
import { CostCard } from './cost-card.tsx'

const UNITS: readonly PanelUnit[] = ['count', 'share', 'usd', 'ms', 'tokens']

/** The figures of the patterns over all runs of the project. */
export function MetricsPage() {
  const { source } = usePage()
  const [reports, setReports] = useState<readonly Report[] | Error | null>(null)
  const load = useCallback(() => {
    const read = async () => setReports(await source.reports())
    void read().catch((error: unknown) => setReports(error instanceof Error ? error : new Error(String(error))))
  }, [source])
  useEffect(load, [load])
  if (reports === null) return <LoadingRows />
  if (reports instanceof Error)
    return (
      <ErrorState title="The figures cannot be loaded." action={<Button onClick={load}>Try again</Button>}>
        {inertLine(reports.message, 300)}
      </ErrorState>
    )
  const withFigures = reports.filter(({ groups }) => groups.length > 0)
  return (
    <div className="metrics-page">
      <h1>Metrics</h1>
      <div className="metrics-reports">
        <CostCard />
        {withFigures.map((report) => (
          <ReportCard key={report.pattern} report={report} />
        ))}
      </div>
    </div>
  )
}

function ReportCard({ report }: { report: Report }) {
  return (
    <section className="card metrics-report">
      <h2>
        {inertLine(report.pattern, 60)} <span className="muted">by {inertLine(report.by, 60)}</span>
      </h2>
      <Blocks blocks={reportBlocks(report)} />
      {report.notes.map((note) => (
        <p key={note} className="muted">
          {inertLine(note, 300)}
        </p>
      ))}
    </section>
  )
}

/** A report as the blocks that draw it: the totals, then a table of the groups. */
export function reportBlocks({ by, columns, groups, total, blocks = [] }: Report): PanelBlock[] {
  const shown: PanelColumn[] = [
    { key: 'group', title: capitalize(by), unit: 'text' },
    ...columns.map(({ name, title, unit }): PanelColumn => ({ key: name, title, unit: toUnit(unit) })),
  ]
  const rows = groups.map(({ group, figures }) => toRow(group, columns, figures))
  const facts = columns.map(({ name, title, unit }) => ({
    label: title,
    value: roundAverage(total.figures[name] ?? null, unit),
    unit: toUnit(unit),
  }))
  return [{ kind: 'facts', facts }, { kind: 'table', columns: shown, rows }, ...blocks]
}

function toRow(
  group: string,
  columns: Report['columns'],
  figures: Readonly<Record<string, number | null>>,
): Record<string, PanelValue> {
  const cells = columns.map(({ name, unit }) => [name, roundAverage(figures[name] ?? null, unit)] as const)
  return { group, ...Object.fromEntries(cells) }
}

function toUnit(unit: string): PanelUnit {
  return UNITS.find((known) => known === unit) ?? 'count'
}

function roundAverage(value: number | null, unit: string): number | null {
  return value !== null && unit === 'average' ? Math.round(value * 100) / 100 : value
}
