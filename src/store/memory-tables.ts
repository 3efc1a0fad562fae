import { TroupeError, unknownNameError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { ColumnValue, Projection, Row, TableDefinition } from '../kernel/table.ts'
import type { MemoryRun } from './memory-run.ts'
import type { RowPosition, TablePage, TableRow, TableScope } from './store.ts'
import type { CheckedCondition } from './tables/checked-query.ts'
import { checkQuery } from './tables/checked-query.ts'
import type { PatternProjection } from './tables/declaration.ts'
import { checkProjections, declarationJson, ownEvents, storedColumns } from './tables/declaration.ts'
import type { EncodedChange } from './tables/row-changes.ts'
import { changesFrom } from './tables/row-changes.ts'

interface MemoryRow {
  place: number
  values: Map<string, ColumnValue>
}

interface MemoryTable {
  definition: TableDefinition
  /** By primary key and run. */
  rows: Map<string, MemoryRow>
}

/** The tables of patterns, in memory. */
export class MemoryTables {
  readonly #kept = new Map<string, PatternProjection>()
  readonly #byType = new Map<string, PatternProjection[]>()
  readonly #tables = new Map<string, MemoryTable>()
  readonly #problems = new Map<string, string>()
  #lastPlace = 0

  keep(projections: readonly PatternProjection[], runs: Iterable<MemoryRun>): void {
    const given = new Set(projections.map(({ pattern }) => pattern))
    checkProjections([...[...this.#kept.values()].filter(({ pattern }) => !given.has(pattern)), ...projections])
    const changed = projections.filter((each) => this.#isNewer(each))
    if (changed.length === 0) return
    for (const each of changed) this.#register(each)
    // In the order of time: events of one run may change a row of another.
    const events = [...runs].flatMap((run) => run.events.map((event) => ({ event, run })))
    for (const { event, run } of events.sort((a, b) => a.event.at - b.event.at)) this.#project(event, run, changed)
  }

  /** Changes the rows of one event that was appended. */
  apply(event: Event, run: MemoryRun): void {
    const interested = this.#byType.get(event.type)
    if (interested) this.#project(event, run, interested)
  }

  query({ project, run_id }: TableScope, page: TablePage): TableRow[] {
    const table = this.#tables.get(page.table)
    if (!table)
      throw unknownNameError('invalid_input', { kind: 'table', name: page.table, known: [...this.#tables.keys()] })
    const { conditions, order, limit, namesRuns } = checkQuery(table.definition, page)
    const idOf = ({ values }: MemoryRow) => values.get(table.definition.primaryKey)
    const all = [...table.rows.values()].filter(({ values }) => values.get('project_id') === project)
    const own = new Set(all.filter(({ values }) => values.get('run_id') === run_id).map(idOf))
    const isVisible = (row: MemoryRow) =>
      namesRuns ||
      (run_id !== undefined && row.values.get('run_id') === run_id) ||
      (row.values.get('inherited') === 0 && !own.has(idOf(row)))
    const sign = order.descending ? -1 : 1
    const positionOf = ({ place, values }: MemoryRow): RowPosition => [
      order.column === undefined ? null : (values.get(order.column) ?? null),
      place,
    ]
    const { after } = page
    return all
      .filter((row) => isVisible(row) && conditions.every((condition) => isMet(condition, row)))
      .sort((a, b) => sign * comparePositions(positionOf(a), positionOf(b)))
      .filter((row) => after === undefined || sign * comparePositions(positionOf(row), after) > 0)
      .slice(0, limit)
      .map((row) => ({ row: toRow(table.definition, row), position: positionOf(row) }))
  }

  deleteRuns(run_ids: ReadonlySet<string>): void {
    for (const { rows } of this.#tables.values())
      for (const [key, { values }] of rows) if (run_ids.has(String(values.get('run_id')))) rows.delete(key)
  }

  problems(): string[] {
    return [...this.#problems].map(([pattern, problem]) => `the tables of the pattern '${pattern}' lack ${problem}`)
  }

  #isNewer({ pattern, projection }: PatternProjection): boolean {
    const known = this.#kept.get(pattern)?.projection
    if (!known) return true
    return projection.version >= known.version && declarationJson(projection) !== declarationJson(known)
  }

  #register(each: PatternProjection): void {
    const before = this.#kept.get(each.pattern)
    for (const { name } of before?.projection.tables ?? []) this.#tables.delete(name)
    for (const [type, interested] of this.#byType)
      this.#byType.set(
        type,
        interested.filter((other) => other !== before),
      )
    this.#kept.set(each.pattern, each)
    this.#problems.delete(each.pattern)
    for (const definition of each.projection.tables) this.#tables.set(definition.name, { definition, rows: new Map() })
    for (const type of each.projection.events) this.#byType.set(type, [...(this.#byType.get(type) ?? []), each])
  }

  #project(event: Event, { identity, events }: MemoryRun, interested: readonly PatternProjection[]): void {
    for (const { pattern, projection } of interested) {
      if (!projection.events.includes(event.type) || !isConcerned(projection, event, events)) continue
      const result = changesFrom(projection, event, identity.project)
      if ('problem' in result) {
        if (!this.#problems.has(pattern)) this.#problems.set(pattern, result.problem)
        continue
      }
      const [start] = events
      const inherited = start?.type === 'run:start' ? (start.data.forked_from?.inherited ?? 0) : 0
      const stored = { project_id: identity.project, run_id: event.run_id, inherited: Number(event.seq <= inherited) }
      for (const change of result.changes) this.#change(change, stored)
    }
  }

  #change(change: EncodedChange, stored: Record<string, ColumnValue>): void {
    const { table, values } = change
    const rows = this.#tables.get(table.name)?.rows
    if (!rows) throw new TroupeError('internal', `no table '${table.name}'`)
    const keyOf = (id: ColumnValue) => JSON.stringify([id, stored.run_id])
    if (change.kind === 'insert') {
      const key = keyOf(change.id)
      const before = rows.get(key)
      const base = before?.values ?? new Map(Object.entries(stored))
      rows.set(key, { place: before?.place ?? ++this.#lastPlace, values: new Map([...base, ...values]) })
      return
    }
    const { conditions, scope, added } = change
    // The original run has changed the rows of other runs before.
    const isOfProject = scope === 'project' && stored.inherited === 0
    const isOriginal = (row: MemoryRow) =>
      isOfProject &&
      row.values.get('project_id') === stored.project_id &&
      row.values.get('inherited') === 0 &&
      !rows.has(keyOf(row.values.get(table.primaryKey) ?? null))
    const own = rows.get(keyOf(keyIn(conditions, table)))
    for (const row of own ? [own] : rows.values()) {
      if (!conditions.every((each) => isMet(each, row))) continue
      if (row.values.get('run_id') !== stored.run_id && !isOriginal(row)) continue
      for (const [name, value] of values) row.values.set(name, value)
      for (const [name, value] of added) row.values.set(name, Number(row.values.get(name)) + value)
    }
  }
}

/** False for the end of a run without an event of the pattern. */
function isConcerned(projection: Projection, { type }: Event, events: readonly Event[]): boolean {
  if (type !== 'run:end') return true
  const own = ownEvents(projection)
  return events.some((event) => own.includes(event.type))
}

/** The primary key that the conditions ask for, if there is one. */
function keyIn(conditions: readonly CheckedCondition[], { primaryKey }: TableDefinition): ColumnValue {
  const [condition] = conditions
  if (condition?.column !== primaryKey || !('oneOf' in condition) || condition.oneOf.length > 1) return null
  return condition.oneOf[0] ?? null
}

function isMet(condition: CheckedCondition, { values }: MemoryRow): boolean {
  const value = values.get(condition.column) ?? null
  if ('oneOf' in condition) return condition.oneOf.includes(value)
  if (value === null) return false
  const compared = compareValues(value, condition.value)
  if (condition.operator === '>') return compared > 0
  if (condition.operator === '>=') return compared >= 0
  return condition.operator === '<' ? compared < 0 : compared <= 0
}

function comparePositions(a: RowPosition, b: RowPosition): number {
  return compareValues(a[0] ?? '', b[0] ?? '') || a[1] - b[1]
}

/** Texts by code point, as databases compare them. */
function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)))
}

function toRow(table: TableDefinition, { values }: MemoryRow): Row {
  return Object.fromEntries(
    storedColumns(table).map(({ name, type }) => {
      const value = values.get(name) ?? null
      return [name, type === 'json' && value !== null ? JSON.parse(String(value)) : value]
    }),
  )
}
