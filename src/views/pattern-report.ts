import type { PatternPart } from '../kernel/pattern-part.ts'
import type { Row } from '../kernel/table-query.ts'
import type { PanelBlock } from './panel.ts'

/* The report of a pattern: figures computed from its tables. All of it is pure; surfaces read the tables and print the figures. */

export interface ReportColumn {
  name: string
  title: string
  /** How a surface prints the number: `share` is from 0 to 1, `ms` a duration. */
  unit: 'count' | 'average' | 'share' | 'usd' | 'ms' | 'tokens'
}

/** Figures of a group, by column; `null` if there is nothing to compute one from. */
export interface ReportGroup {
  group: string
  figures: Readonly<Record<string, number | null>>
}

export interface ReportFigures {
  groups: ReportGroup[]
  total: ReportGroup
  /** Remarks on the figures, such as costs that are incomplete. */
  notes: string[]
  /** Further parts of a page, such as a heat map. */
  blocks?: readonly PanelBlock[]
}

/** Figures over the tables of a pattern. */
export interface PatternReport extends PatternPart<'report'> {
  /** The ways to group them, the default first. */
  by: readonly string[]
  columns: readonly ReportColumn[]
  /** The tables that it reads, with the column by which `since` selects rows. */
  tables: Readonly<Record<string, string>>
  /** Computes the figures from the rows of these tables. */
  compute(rows: Readonly<Record<string, readonly Row[]>>, by: string): ReportFigures
}
