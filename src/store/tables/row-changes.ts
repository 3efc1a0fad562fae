import { TroupeError } from '../../errors.ts'
import type { Event, EventOf, PatternEventType } from '../../kernel/event.ts'
import type { ColumnValue, Row } from '../../kernel/table-query.ts'
import type { CheckedCondition } from './checked-query.ts'
import { checkQuery, storableText } from './checked-query.ts'
import type { TableColumn } from './declaration.ts'
import { columnsOf, declaredColumns, STORE_COLUMNS } from './declaration.ts'
import type { Projection, TableDefinition } from './projection.ts'

/** A checked change with values as databases store them. */
export type EncodedChange = EncodedInsert | EncodedUpdate

interface EncodedInsert {
  kind: 'insert'
  table: TableDefinition
  id: string
  /** Of all declared columns. */
  values: ReadonlyMap<string, ColumnValue>
}

export interface EncodedUpdate {
  kind: 'update'
  table: TableDefinition
  conditions: readonly CheckedCondition[]
  /** The rows of its run only, or also those of other runs of the project. */
  scope: 'run' | 'project'
  values: ReadonlyMap<string, ColumnValue>
  /** Numbers to add to columns. */
  added: ReadonlyMap<string, number>
}

/**
 * The changes of one event, or the problem with them. A projection that fails must not fail the run whose event it reads: the journal is
 * the truth, and the tables can be computed again.
 */
export function changesFrom(
  projection: Projection,
  event: Event,
  project: string,
): { changes: readonly EncodedChange[] } | { problem: string } {
  try {
    const run = { run_id: event.run_id, project }
    const changes = projection.rows(event as EventOf<PatternEventType>, run)
    return { changes: changes.map((change) => encodeChange(projection, change)) }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    return { problem: `event ${event.seq} (${event.type}) of run ${event.run_id}: ${reason}` }
  }
}

function encodeChange(projection: Projection, change: ReturnType<Projection['rows']>[number]): EncodedChange {
  const table = projection.tables.find(({ name }) => name === change.table)
  if (!table) throw rowError(`no table '${change.table}' is declared`)
  if ('insert' in change) {
    for (const name of Object.keys(change.insert)) requireDeclared(table, name)
    const values = new Map(
      declaredColumns(table).map((column) => [column.name, encodeValue(table, column, change.insert[column.name])]),
    )
    return { kind: 'insert', table, id: String(values.get(table.primaryKey)), values }
  }
  if ('id' in change && typeof change.id !== 'string')
    throw rowError(`\`id\` of an update of '${table.name}' is not a string`)
  const { update = {}, add = {} }: { update?: Row; add?: Readonly<Record<string, number>> } = change
  const values = encodeUpdate(table, update)
  if (values.has(table.primaryKey)) throw rowError(`an update of '${table.name}' changes its primary key`)
  const { where, scope = 'run' } =
    'where' in change ? change : { where: { [table.primaryKey]: change.id }, scope: 'project' as const }
  const { conditions } = checkQuery(table, { table: table.name, where, limit: 1 })
  return { kind: 'update', table, conditions, scope, values, added: encodeSums(table, add) }
}

function encodeUpdate(table: TableDefinition, update: Row): Map<string, ColumnValue> {
  const values = new Map<string, ColumnValue>()
  for (const [name, value] of Object.entries(update)) {
    const column = requireDeclared(table, name)
    if (value !== undefined) values.set(name, encodeValue(table, column, value))
  }
  return values
}

function encodeSums(table: TableDefinition, add: Readonly<Record<string, number>>): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [name, value] of Object.entries(add)) {
    const column = requireDeclared(table, name)
    if (column.nullable || (column.type !== 'integer' && column.type !== 'real'))
      throw rowError(`\`add\` to '${name}' of '${table.name}', which is no number without null`)
    if (value !== undefined) sums.set(name, Number(encodeValue(table, column, value)))
  }
  return sums
}

function requireDeclared(table: TableDefinition, name: string): TableColumn {
  const column = columnsOf(table).get(name)
  if (!column || STORE_COLUMNS.includes(column)) throw rowError(`the table '${table.name}' has no column '${name}'`)
  return column
}

function encodeValue(table: TableDefinition, { name, type, nullable }: TableColumn, value: unknown): ColumnValue {
  if (value === undefined || value === null) {
    if (nullable) return null
    throw rowError(`the column '${name}' of '${table.name}' is null`)
  }
  if (type === 'json') return JSON.stringify(value) ?? 'null'
  if (type === 'text' && typeof value === 'string') return storableText(value)
  if (type === 'integer' && typeof value === 'boolean') return Number(value)
  if (type === 'integer' && Number.isSafeInteger(value)) return Number(value)
  if (type === 'real' && Number.isFinite(value)) return Number(value)
  throw rowError(`the column '${name}' of '${table.name}' is ${type}, not ${typeof value}`)
}

function rowError(problem: string): TroupeError {
  return new TroupeError('invalid_event', problem, {
    hint: 'correct `rows` of the projection and increase its `version`',
  })
}
