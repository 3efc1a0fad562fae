import type { EventOf, PatternEventType } from '../../kernel/event.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import type { PatternPart } from '../../kernel/pattern-part.ts'
import type { ColumnCondition, Row } from '../../kernel/table-query.ts'

/*
 * The tables of a pattern: rows that the store computes from the pattern's events, in the transaction that appends them. People read them
 * with plain SQL, patterns and programs with `query`.
 */

/** `json` is stored as JSON text, `integer` and `real` as numbers. Times are milliseconds in an `integer`. */
export type ColumnType = 'text' | 'integer' | 'real' | 'json'

export interface TableDefinition {
  /** Lower-case letters, digits and `_`. Tables of the store and of other patterns are taken. */
  name: string
  /** By name. The store adds `project_id`, `run_id` and `inherited` and fills them. */
  columns: Readonly<Record<string, ColumnType | { type: ColumnType; null?: true }>>
  /** A `text` column that identifies a row within its run. */
  primaryKey: string
  indexes?: readonly { name: string; columns: readonly string[] }[]
}

/**
 * `insert` replaces a row of this run with the same primary key. `update` changes these columns and `add` adds to numbers: of the row of this run
 * or else of the run of this project that inserted it, and nothing if there is none. With `where` it changes all rows of this run that meet the conditions,
 * with the `scope` `project` also those of other runs.
 */
export type RowChange =
  | { table: string; insert: Row }
  | { table: string; id: string; update?: Row; add?: Readonly<Record<string, number>> }
  | { table: string; where: Readonly<Record<string, ColumnCondition>>; scope?: 'project'; update: Row }

/** The run whose event is projected. */
export interface ProjectedRun {
  run_id: string
  project: string
}

/** The projection of a pattern. */
export interface PatternProjection {
  /** The name of the pattern. */
  pattern: string
  projection: Projection
}

/** Computes rows from events of a pattern. */
export interface Projection<Event = EventOf<PatternEventType>> extends PatternPart<'projection'> {
  /** Increase it when `tables` or `rows` change: the tables are then computed again from the journals. */
  version: number
  tables: readonly TableDefinition[]
  /**
   * The event types that `rows` is called with: those declared in `events` of the pattern, and `run:end` of runs that have one of them. Other events
   * cost nothing.
   */
  events: readonly string[]
  /** Pure: the same event always gives the same changes. */
  rows(event: Event, run: ProjectedRun): readonly RowChange[]
}

/** Checks a projection against the events of its pattern and erases its types. */
export function defineProjection<Event>(projection: Projection<Event>): Projection {
  // `rows` gets events of its own pattern only, which no type of a list of projections can express.
  return projection as unknown as Projection
}

/** The projection of a pattern, which the kernel passes on without its type. */
export function projectionOf({ name, projection }: Pattern): PatternProjection | undefined {
  return projection && { pattern: name, projection: projection as Projection }
}
