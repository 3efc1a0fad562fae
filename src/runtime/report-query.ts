import { unknownNameError } from '../errors.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Row, TableQuery } from '../kernel/table-query.ts'
import type { PatternReport, ReportColumn, ReportFigures } from '../views/pattern-report.ts'
import type { PagedQuery } from './paged-query.ts'

export interface ReportQuery {
  /** Only the report of this pattern. */
  pattern?: string
  /** One of the groupings of the report. Default: the first one. */
  by?: string
  /** Only rows from this time on, in ms. */
  since?: number
}

/** The figures of one pattern. */
export interface Report extends ReportFigures {
  pattern: string
  by: string
  columns: readonly ReportColumn[]
}

/** Computes the reports of the patterns that have one. Throws `invalid_input` for an unknown pattern or grouping. */
export async function readReports(
  patterns: readonly Pattern[],
  { pattern: name, by, since }: ReportQuery,
  query: (query: TableQuery) => PagedQuery<Row>,
): Promise<Report[]> {
  const loaded = patterns.map(async ({ name: pattern, report }) => {
    const part = typeof report === 'function' ? await report() : report
    // The kernel passes it on without its type.
    return part ? [{ pattern, report: part as PatternReport }] : []
  })
  const reporting = (await Promise.all(loaded)).flat()
  const names = reporting.map(({ pattern }) => pattern)
  if (name !== undefined && !names.includes(name))
    throw unknownNameError('invalid_input', { kind: 'report of a pattern', name, known: names })
  const chosen = reporting.filter(({ pattern }) => name === undefined || pattern === name)
  const groupings = [...new Set(chosen.flatMap(({ report }) => report.by))]
  if (by !== undefined && !groupings.includes(by))
    throw unknownNameError('invalid_input', { kind: 'grouping (`by`)', name: by, known: groupings })
  const reports: Report[] = []
  for (const { pattern, report } of chosen) {
    const grouping = by ?? report.by[0] ?? ''
    if (!report.by.includes(grouping)) continue
    const figures = report.compute(await readTables(report, since, query), grouping)
    reports.push({ pattern, by: grouping, columns: report.columns, ...figures })
  }
  return reports
}

async function readTables(
  { tables }: PatternReport,
  since: number | undefined,
  query: (query: TableQuery) => PagedQuery<Row>,
): Promise<Record<string, readonly Row[]>> {
  const rows: Record<string, readonly Row[]> = {}
  for (const [table, time] of Object.entries(tables))
    rows[table] = await query({ table, ...(since === undefined ? {} : { where: { [time]: { gte: since } } }) }).all()
  return rows
}
