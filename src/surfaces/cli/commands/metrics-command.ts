import type { Report } from '../../../entries/inspect.ts'
import { formatCompactCount, formatDuration, formatUsd } from '../../../views/format-amount.ts'
import type { ReportColumn, ReportGroup } from '../../../views/pattern-report.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withTroupe } from '../open-troupe.ts'
import { parseDay } from '../parse-day.ts'
import type { Column } from '../render/table.ts'
import { renderTable } from '../render/table.ts'

interface MetricsOptions {
  by?: string
  since?: string
}

/** The figures that patterns compute from their tables. */
export function metricsCommand(cli: Cli<MetricsOptions>, pattern: string | undefined): Promise<number> {
  const { by, since } = cli.options
  const query = {
    ...(pattern === undefined ? {} : { pattern }),
    ...(by === undefined ? {} : { by }),
    ...(since === undefined ? {} : { since: parseDay(since) }),
  }
  return withTroupe(cli, 'existing', async (troupe) => {
    const reports = await troupe.reports(query)
    if (cli.options.json) printJson(cli, { since: since ?? null, reports })
    else for (const report of reports) printReport(cli, report)
    return EXIT.done
  })
}

function printReport({ terminal, options: { since } }: Cli<MetricsOptions>, report: Report): void {
  const { pattern, by, groups, total, notes } = report
  if (groups.length === 0) {
    terminal.note(`${pattern}: nothing recorded${since === undefined ? '' : ` since ${since}`}`)
    return
  }
  const rows = groups.length > 1 ? [...groups, total] : groups
  const columns: Column<ReportGroup>[] = [
    {
      title: by,
      text: ({ group }) => toTerminalLine(group),
      textStyle: (row) => (row === total ? 'bold' : undefined),
      flexible: true,
    },
    ...report.columns.map((column, index) => toColumn(column, index)),
  ]
  for (const line of renderTable(rows, columns, terminal.out)) terminal.print(line)
  for (const note of notes) terminal.note(note)
}

/** On narrow terminals the last columns are dropped first. */
function toColumn(column: ReportColumn, index: number): Column<ReportGroup> {
  const text = ({ figures }: ReportGroup) => formatFigure(figures[column.name] ?? null, column.unit)
  return { title: column.title, text, align: 'right', ...(index === 0 ? {} : { dropBelow: 16 }) }
}

function formatFigure(figure: number | null, unit: ReportColumn['unit']): string {
  if (figure === null) return '-'
  switch (unit) {
    case 'average':
      return figure.toFixed(1)
    case 'share':
      return `${Math.round(figure * 100)}%`
    case 'usd':
      return formatUsd(figure)
    case 'ms':
      return formatDuration(figure)
    default:
      return formatCompactCount(figure)
  }
}
