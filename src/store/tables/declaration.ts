import { TroupeError } from '../../errors.ts'
import type { ColumnType, Projection, TableDefinition } from './projection.ts'

/** The part of a projection that is data. */
export type Declaration = Pick<Projection, 'version' | 'events' | 'tables'>

export interface TableColumn {
  name: string
  type: ColumnType
  nullable: boolean
}

/** Columns that the store fills: a row cannot claim to belong to another run or project. */
export const STORE_COLUMNS: readonly TableColumn[] = [
  { name: 'project_id', type: 'text', nullable: false },
  { name: 'run_id', type: 'text', nullable: false },
  { name: 'inherited', type: 'integer', nullable: false },
]

/** Tables, views and indexes of the stores, also of those to come. */
export const STORE_TABLE_NAMES: ReadonlySet<string> = new Set([
  ...['runs', 'runs_live', 'events', 'events_by_run', 'sessions', 'sessions_by_cache_key', 'segments'],
  ...[
    'gates',
    'gates_open',
    'commands',
    'commands_by_run',
    'commands_one_answer',
    'artifacts',
    'blobs',
    'blobs_by_hash',
  ],
  ...['token_buckets', 'vectors', 'journal', 'projections', 'run_words'],
])

/** Prevents SQL injection: names are parts of statements. Lower case only, because SQL does not tell cases apart. */
const NAME = /^[a-z][a-z0-9_]{0,62}$/
/** Names with which SQL statements address the row itself, and prefixes that databases keep for themselves. */
const RESERVED = /^(?:rowid|oid|ctid|sqlite_.*|pg_.*)$/
const COLUMN_TYPES: ReadonlySet<string> = new Set<ColumnType>(['text', 'integer', 'real', 'json'])
const MAX_COLUMNS = 100
const MAX_TABLES = 50

export function declaredColumns({ columns }: TableDefinition): TableColumn[] {
  return Object.entries(columns).map(([name, column]) =>
    typeof column === 'string'
      ? { name, type: column, nullable: false }
      : { name, type: column.type, nullable: column.null === true },
  )
}

/** The columns of a table as the database has them. */
export function storedColumns(table: TableDefinition): readonly TableColumn[] {
  return [...columnsOf(table).values()]
}

/** By the columns of the definition, which do not change: projections use them with every event. */
const knownColumns = new WeakMap<object, ReadonlyMap<string, TableColumn>>()

/** The columns of a table as the database has them, by name; the declared ones first. */
export function columnsOf(table: TableDefinition): ReadonlyMap<string, TableColumn> {
  const known = knownColumns.get(table.columns)
  if (known) return known
  const columns = new Map([...declaredColumns(table), ...STORE_COLUMNS].map((column) => [column.name, column]))
  knownColumns.set(table.columns, columns)
  return columns
}

/** The events of the pattern itself: the end of a run without one of them concerns no row. */
export function ownEvents({ events }: Declaration): string[] {
  return events.filter((type) => type !== 'run:end')
}

/** The data of a declaration in a fixed form, for comparing and storing it. */
export function declarationJson({ version, events, tables }: Declaration): string {
  const normalized = tables.map((table) => ({
    name: table.name,
    columns: Object.fromEntries(
      declaredColumns(table).map(({ name, type, nullable }) => [name, nullable ? { type, null: true } : type]),
    ),
    primaryKey: table.primaryKey,
    indexes: (table.indexes ?? []).map(({ name, columns }) => ({ name, columns })),
  }))
  return JSON.stringify({ version, events, tables: normalized })
}

/** Throws `invalid_input` for an invalid declaration, and for a table or index that two patterns declare. */
export function checkProjections(projections: readonly { pattern: string; projection: Declaration }[]): void {
  const owners = new Map<string, string>()
  for (const { pattern, projection } of projections) {
    checkDeclaration(pattern, projection)
    for (const name of objectNames(projection)) {
      const owner = owners.get(name)
      if (owner !== undefined) throw invalidError(pattern, `the table or index '${name}' ${takenBy(owner, pattern)}`)
      owners.set(name, pattern)
    }
  }
}

function takenBy(owner: string, pattern: string): string {
  return owner === pattern ? 'is declared twice' : `belongs to the pattern '${owner}'`
}

/** The names of its tables and indexes. */
export function objectNames({ tables }: Declaration): string[] {
  return tables.flatMap(({ name, indexes = [] }) => [name, ...indexes.map((index) => index.name)])
}

function checkDeclaration(pattern: string, { version, events, tables }: Declaration): void {
  const problem =
    !Number.isSafeInteger(version) || version < 1
      ? `\`version\` is ${String(version)}, not a whole number from 1`
      : !isStringList(events) || events.length === 0
        ? '`events` is not a list of event types'
        : !Array.isArray(tables) || tables.length === 0 || tables.length > MAX_TABLES
          ? `\`tables\` is not a list of 1 to ${MAX_TABLES} tables`
          : undefined
  if (problem !== undefined) throw invalidError(pattern, problem)
  for (const table of tables) {
    const found = tableProblem(table)
    if (found !== undefined) throw invalidError(pattern, found)
  }
}

function tableProblem(table: TableDefinition): string | undefined {
  const { name, columns, primaryKey, indexes = [] } = table
  const nameIssue = objectNameProblem('table', name)
  if (nameIssue !== undefined) return nameIssue
  const where = `the table '${name}'`
  if (typeof columns !== 'object' || columns === null) return `${where} has no \`columns\``
  const declared = declaredColumns(table)
  if (declared.length > MAX_COLUMNS) return `${where} has more than ${MAX_COLUMNS} columns`
  for (const column of declared) {
    const issue = columnProblem(column)
    if (issue !== undefined) return `${where}: ${issue}`
  }
  const key = declared.find((column) => column.name === primaryKey)
  if (key?.type !== 'text' || key.nullable)
    return `${where}: \`primaryKey\` '${String(primaryKey)}' is not a column of type text without null`
  const known = new Set(storedColumns(table).map((column) => column.name))
  for (const index of indexes) {
    const issue = objectNameProblem('index', index.name)
    if (issue !== undefined) return issue
    const unknown = isStringList(index.columns) ? index.columns.find((column) => !known.has(column)) : '?'
    if (unknown !== undefined || index.columns.length === 0)
      return `the index '${index.name}': no column '${unknown ?? ''}'; known: ${[...known].join(', ')}`
  }
  return undefined
}

function objectNameProblem(kind: string, name: unknown): string | undefined {
  if (typeof name !== 'string' || !NAME.test(name) || RESERVED.test(name))
    return `'${String(name)}' is not a valid name of a ${kind}`
  return STORE_TABLE_NAMES.has(name) ? `the name '${name}' belongs to the store` : undefined
}

function columnProblem({ name, type }: TableColumn): string | undefined {
  if (!NAME.test(name) || RESERVED.test(name)) return `'${name}' is not a valid name of a column`
  if (STORE_COLUMNS.some((column) => column.name === name)) return `the column '${name}' is filled by the store`
  return COLUMN_TYPES.has(type) ? undefined : `the column '${name}' has the unknown type '${String(type)}'`
}

function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function invalidError(pattern: string, problem: string): TroupeError {
  return new TroupeError('invalid_input', `\`projection\` of the pattern '${pattern}': ${problem}`, {
    hint: 'names are lower-case letters, digits and _, and used by no other table; column types are text, integer, real, json',
  })
}
