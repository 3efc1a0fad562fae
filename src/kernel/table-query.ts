/* Rows of the tables that the store keeps for patterns, and what is asked for them. */

/** Values by column. In a `json` column any JSON value. */
export type Row = Readonly<Record<string, unknown>>

export type ColumnValue = string | number | null

/** A value, one of several values, or a range. */
export type ColumnCondition =
  | ColumnValue
  | readonly ColumnValue[]
  | { gt?: string | number; gte?: string | number; lt?: string | number; lte?: string | number }

export interface TableQuery {
  table: string
  /** The columns of each row. Default: all. In a pattern the rows are recorded: name those that it needs. */
  columns?: readonly string[]
  /** Rows that meet all conditions. A `json` column cannot be compared. */
  where?: Readonly<Record<string, ColumnCondition>>
  /** A column that is never `null`. Default: the order in which the rows were first written. */
  orderBy?: { column: string; direction?: 'asc' | 'desc' }
  /** At most 1000. Default: 100. */
  limit?: number
}
