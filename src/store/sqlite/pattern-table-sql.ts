import type { SQLInputValue } from 'node:sqlite'
import type { RowPosition, TableScope } from '../store.ts'
import type { CheckedCondition, CheckedQuery } from '../tables/checked-query.ts'
import type { Declaration } from '../tables/declaration.ts'
import { storedColumns } from '../tables/declaration.ts'
import type { ColumnType, TableDefinition } from '../tables/projection.ts'
import type { EncodedUpdate } from '../tables/row-changes.ts'
import type { RunKey } from './event-table.ts'

/* Names are checked by `checkProjections` before they become part of a statement; values are always bound. */

const SQL_TYPES: Readonly<Record<ColumnType, string>> = { text: 'TEXT', integer: 'INTEGER', real: 'REAL', json: 'TEXT' }

/** The result column with the row id. No declared column can have this name. */
export const PLACE = '#place'

export function createStatements({ tables }: Declaration): string[] {
  return tables.flatMap((table) => [
    createTable(table),
    ...(table.indexes ?? []).map(
      ({ name, columns }) => `CREATE INDEX ${quote(name)} ON ${quote(table.name)} (${columns.map(quote).join(', ')})`,
    ),
  ])
}

function createTable(table: TableDefinition): string {
  const columns = storedColumns(table).map(
    ({ name, type, nullable }) => `  ${quote(name)} ${SQL_TYPES[type]}${nullable ? '' : ' NOT NULL'}`,
  )
  return `CREATE TABLE ${quote(table.name)} (\n${columns.join(',\n')},\n  PRIMARY KEY (${quote(table.primaryKey)}, "run_id")\n)`
}

export function insertStatement(table: TableDefinition, columns: readonly string[]): string {
  const changed = columns.filter((name) => name !== table.primaryKey && name !== 'run_id' && name !== 'inherited')
  const values = columns.map(() => '?').join(', ')
  const updates = changed.map((name) => `${quote(name)} = excluded.${quote(name)}`).join(', ')
  return `INSERT INTO ${quote(table.name)} (${columns.map(quote).join(', ')}) VALUES (${values})
    ON CONFLICT (${quote(table.primaryKey)}, "run_id") DO UPDATE SET ${updates}`
}

/** Binds the values to set and to add, then `values`. */
export function updateStatement(
  { table, conditions, scope, values: set, added }: EncodedUpdate,
  { run_id, project }: RunKey,
): { sql: string; values: SQLInputValue[] } {
  const name = quote(table.name)
  const values: SQLInputValue[] = [project]
  const isOfRun = scope === 'run' ? '"run_id" = ?' : visibleRows(table, { alias: 'changed', run_id, values })
  if (scope === 'run') values.push(run_id)
  // The plus keeps SQLite from an index by project: the conditions select far fewer rows.
  const met = ['+"project_id" = ?', isOfRun, ...conditions.map((condition) => conditionSql(condition, values))]
  const updates = [
    ...[...set.keys()].map((column) => `${quote(column)} = ?`),
    ...[...added.keys()].map((column) => `${quote(column)} = ${quote(column)} + ?`),
  ]
  return { sql: `UPDATE ${name} AS changed SET ${updates.join(', ')} WHERE ${met.join(' AND ')}`, values }
}

/** Binds a JSON list of runs. */
export function deleteStatement({ name }: TableDefinition): string {
  return `DELETE FROM ${quote(name)} WHERE "run_id" IN (SELECT value FROM json_each(?))`
}

export function selectStatement(
  table: TableDefinition,
  { project, run_id }: TableScope,
  { query, after }: { query: CheckedQuery; after: RowPosition | undefined },
): { sql: string; values: SQLInputValue[] } {
  const values: SQLInputValue[] = [project]
  const conditions = ['"project_id" = ?']
  if (!query.namesRuns) conditions.push(visibleRows(table, { alias: 'shown', run_id, values }))
  for (const condition of query.conditions) conditions.push(conditionSql(condition, values))
  const { column, descending } = query.order
  const order = [...(column === undefined ? [] : [quote(column)]), 'shown.rowid']
  if (after) {
    values.push(...(column === undefined ? [after[1]] : after))
    conditions.push(`(${order.join(', ')}) ${descending ? '<' : '>'} (${order.map(() => '?').join(', ')})`)
  }
  values.push(query.limit)
  const direction = descending ? ' DESC' : ''
  const sql = `SELECT *, shown.rowid AS "${PLACE}" FROM ${quote(table.name)} AS shown WHERE ${conditions.join(' AND ')}
    ORDER BY ${order.map((name) => `${name}${direction}`).join(', ')} LIMIT ?`
  return { sql, values }
}

interface VisibleRows {
  /** The name of the table in the statement. */
  alias: string
  run_id: string | undefined
  values: SQLInputValue[]
}

/** A row that a fork inherited is hidden, except for the fork itself, for which it hides its original. */
function visibleRows(table: TableDefinition, { alias, run_id, values }: VisibleRows): string {
  if (run_id === undefined) return '"inherited" = 0'
  const key = quote(table.primaryKey)
  values.push(run_id, run_id)
  return `("run_id" = ? OR ("inherited" = 0 AND NOT EXISTS (
    SELECT 1 FROM ${quote(table.name)} AS own WHERE own.${key} = ${alias}.${key} AND own."run_id" = ?)))`
}

function conditionSql(condition: CheckedCondition, values: SQLInputValue[]): string {
  const column = quote(condition.column)
  if (!('oneOf' in condition)) {
    values.push(condition.value)
    return `${column} ${condition.operator} ?`
  }
  const listed = condition.oneOf.filter((value) => value !== null)
  values.push(...listed)
  const isListed = `${column} IN (${listed.map(() => '?').join(', ')})`
  return listed.length < condition.oneOf.length ? `(${isListed} OR ${column} IS NULL)` : isListed
}

export function quote(name: string): string {
  return `"${name}"`
}
