import { TroupeError, unknownNameError } from '../../errors.ts'
import type { ColumnCondition, ColumnValue, Row, TableQuery } from '../../kernel/table-query.ts'
import type { TableColumn } from './declaration.ts'
import { columnsOf } from './declaration.ts'
import type { TableDefinition } from './projection.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
const MAX_VALUES = 1000

const OPERATORS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
type Operator = (typeof OPERATORS)[keyof typeof OPERATORS]

export type CheckedCondition =
  | { column: string; oneOf: readonly ColumnValue[] }
  | { column: string; operator: Operator; value: string | number }

/** A query whose names and values are those of the table. */
export interface CheckedQuery {
  conditions: readonly CheckedCondition[]
  order: { column: string | undefined; descending: boolean }
  limit: number
  /** True if the conditions name runs or inherited rows: only then are inherited rows returned. */
  namesRuns: boolean
}

/** Throws `invalid_input` for unknown columns, values of another type, and more than can be read at once. */
export function checkQuery(table: TableDefinition, query: TableQuery): CheckedQuery {
  const { where = {}, orderBy, limit = DEFAULT_LIMIT } = query
  const columns = columnsOf(table)
  // One more than a page holds shows whether there is a next page.
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT + 1)
    throw queryError(`\`limit\` is ${String(limit)}, not a whole number from 1 to ${MAX_LIMIT}`)
  for (const name of query.columns ?? []) requireColumn(columns, name)
  const ordered = orderBy && requireColumn(columns, orderBy.column)
  if (ordered?.nullable || ordered?.type === 'json')
    throw queryError(`\`orderBy\`: the column '${ordered.name}' can be null or is JSON`)
  const direction = orderBy?.direction ?? 'asc'
  if (direction !== 'asc' && direction !== 'desc')
    throw queryError(`\`orderBy.direction\` is '${String(direction)}', not 'asc' or 'desc'`)
  return {
    conditions: Object.entries(where).flatMap(([name, condition]) =>
      condition === undefined ? [] : conditionsOn(requireColumn(columns, name), condition),
    ),
    order: { column: ordered?.name, descending: direction === 'desc' },
    limit,
    namesRuns: where.run_id !== undefined || where.inherited !== undefined,
  }
}

/** The row with these columns only; stores return whole rows. */
export function selectColumns(row: Row, columns: readonly string[] | undefined): Row {
  return columns ? Object.fromEntries(columns.map((name) => [name, row[name]])) : row
}

function requireColumn(columns: ReadonlyMap<string, TableColumn>, name: string): TableColumn {
  const column = columns.get(name)
  if (column) return column
  throw unknownNameError('invalid_input', { kind: 'column', name: String(name), known: [...columns.keys()] })
}

function conditionsOn(column: TableColumn, condition: ColumnCondition): CheckedCondition[] {
  if (column.type === 'json') throw queryError(`\`where\`: the JSON column '${column.name}' cannot be compared`)
  if (condition === null || typeof condition !== 'object')
    return [{ column: column.name, oneOf: [checkValue(column, condition)] }]
  if (isValueList(condition)) {
    if (condition.length > MAX_VALUES) throw queryError(`\`where.${column.name}\` has more than ${MAX_VALUES} values`)
    return [{ column: column.name, oneOf: condition.map((value) => checkValue(column, value)) }]
  }
  return Object.entries(condition).flatMap(([name, value]) => {
    if (!Object.hasOwn(OPERATORS, name))
      throw queryError(`\`where.${column.name}\`: no operator '${name}'; known: ${Object.keys(OPERATORS).join(', ')}`)
    if (value === undefined) return []
    const checked = checkValue(column, value)
    if (checked === null) throw queryError(`\`where.${column.name}\`: null cannot be compared`)
    return [{ column: column.name, operator: OPERATORS[name as keyof typeof OPERATORS], value: checked }]
  })
}

function isValueList(condition: ColumnCondition): condition is readonly ColumnValue[] {
  return Array.isArray(condition)
}

function checkValue({ name, type }: TableColumn, value: unknown): ColumnValue {
  if (value === null) return null
  if (type === 'text' && typeof value === 'string') return storableText(value)
  if (type !== 'text' && typeof value === 'number' && Number.isFinite(value)) return value
  throw queryError(`\`where.${name}\` is ${typeof value}, but the column is ${type}`)
}

function queryError(problem: string): TroupeError {
  return new TroupeError('invalid_input', `\`query\`: ${problem}`, {
    hint: 'see `TableQuery` in the API reference; read more rows in pages',
  })
}

/** Databases reject or mangle lone surrogates and U+0000 in text. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
