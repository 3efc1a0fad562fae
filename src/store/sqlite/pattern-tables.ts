import type { SQLInputValue, StatementSync } from 'node:sqlite'
import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { withoutCut } from '../../kernel/journal/cut.ts'
import type { Row } from '../../kernel/table-query.ts'
import type { RowPosition, TablePage, TableRow, TableScope } from '../store.ts'
import { checkQuery } from '../tables/checked-query.ts'
import type { Declaration } from '../tables/declaration.ts'
import { declarationJson, ownEvents, storedColumns } from '../tables/declaration.ts'
import type { PatternProjection, TableDefinition } from '../tables/projection.ts'
import type { EncodedChange } from '../tables/row-changes.ts'
import { changesFrom } from '../tables/row-changes.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'
import {
  createStatements,
  deleteStatement,
  insertStatement,
  PLACE,
  selectStatement,
  updateStatement,
} from './pattern-table-sql.ts'
import type { CatalogueEntry } from './projection-catalogue.ts'
import { ProjectionCatalogue } from './projection-catalogue.ts'

/*
 * Invariants
 * 1. Rows change in the transaction that appends their event: there is nothing to repair after a crash.
 * 2. A process changes rows only by the declaration that the file has. Otherwise it marks the tables as stale in the transaction of its
 *    append, and a process with that declaration computes them again before it reads them.
 * 3. After `run:cut`, the rows of the run are computed again without what was cut. What a cut event has added stays until its step is recorded anew, and for good in rows of other
 *    runs: it was paid for.
 * 4. The catalogue is read again in the first transaction after a commit of another process, before anything is written.
 */

const MAX_CACHED_RUNS = 10_000

/** The tables of patterns and the statements that change their rows. */
export class PatternTables {
  readonly catalogue: ProjectionCatalogue
  readonly #db: Database
  readonly #events: EventTable
  /** By pattern, the projections that this process has. */
  readonly #known = new Map<string, PatternProjection>()
  #entries: readonly CatalogueEntry[] = []
  /** The declarations that `#appliedTo` and `#staleFor` were made from. */
  #declarations = ''
  /** The projections to apply, and the patterns to mark as stale, by event type. */
  readonly #appliedTo = new Map<string, PatternProjection[]>()
  readonly #staleFor = new Map<string, CatalogueEntry[]>()
  readonly #statements = new Map<string, StatementSync>()
  readonly #inheritedCounts = new Map<string, number>()
  /** Runs that were created here and have no event of these projections. */
  readonly #plainRuns = new Set<string>()
  /** By run and pattern, the keys of events that were cut, but for what they had added. */
  readonly #cutKeys = new Map<string, ReadonlySet<string>>()
  readonly #hasEvents

  constructor(db: Database, events: EventTable) {
    this.#db = db
    this.#events = events
    this.#hasEvents = db.prepare(
      'SELECT 1 FROM events WHERE run = ? AND type IN (SELECT value FROM json_each(?)) LIMIT 1',
    )
    this.catalogue = new ProjectionCatalogue(db)
  }

  /** The catalogue as it was last read. */
  get entries(): readonly CatalogueEntry[] {
    return this.#entries
  }

  /** Takes note of the projections of this process; they apply as soon as the file has their declaration. */
  setKnown(projections: readonly PatternProjection[]): void {
    for (const each of projections) this.#known.set(each.pattern, each)
    this.#declarations = ''
    this.#plainRuns.clear()
    this.readCatalogue()
  }

  /** The projection of this process for a pattern. */
  known(pattern: string): PatternProjection | undefined {
    return this.#known.get(pattern)
  }

  readCatalogue(): void {
    this.#entries = this.catalogue.entries()
    const declarations = this.#entries.map(({ pattern, json }) => `${pattern} ${json}`).join('\n')
    if (declarations === this.#declarations) return
    this.#declarations = declarations
    this.#plainRuns.clear()
    this.#appliedTo.clear()
    this.#staleFor.clear()
    this.#statements.clear()
    for (const entry of this.#entries) {
      const known = this.#known.get(entry.pattern)
      const isApplied = known && declarationJson(known.projection) === entry.json
      for (const type of [...entry.declaration.events, 'run:cut']) {
        if (isApplied) this.#appliedTo.set(type, [...(this.#appliedTo.get(type) ?? []), known])
        else this.#staleFor.set(type, [...(this.#staleFor.get(type) ?? []), entry])
      }
    }
  }

  /** Changes the rows of events that the same transaction appends. */
  apply(run: RunKey, events: readonly Event[]): void {
    if (this.#entries.length === 0) return
    for (const event of events) {
      const applied = this.#appliedTo.get(event.type)
      const stale = this.#staleFor.get(event.type)
      if (!applied && !stale) continue
      for (const each of applied ?? []) this.project(each, run, event)
      for (const { pattern, declaration } of stale ?? [])
        if (this.#concerns(declaration, run, event)) this.catalogue.markStale(pattern)
      this.#plainRuns.delete(run.run_id)
    }
  }

  /** False for an event of the kernel in a run without an event of the pattern. */
  #concerns(declaration: Declaration, run: RunKey, { type }: Event): boolean {
    if (type !== 'run:end' && type !== 'run:cut') return true
    if (this.#plainRuns.has(run.run_id)) return false
    return this.#hasEvents.get(run.id, JSON.stringify(ownEvents(declaration))) !== undefined
  }

  project({ pattern, projection }: PatternProjection, run: RunKey, event: Event): void {
    if (!this.#concerns(projection, run, event)) return
    if (event.type === 'run:cut') {
      this.#cutKeys.delete(`${run.run_id}\n${pattern}`)
      this.#projectAgain({ pattern, projection }, run, { before: event.seq + 1 })
      return
    }
    const { key = '' } = event.data as { key?: string }
    if (this.#keysPaidAndCut({ pattern, projection }, run).has(key))
      this.#projectAgain({ pattern, projection }, run, { before: event.seq, redone: key })
    for (const change of this.#changes({ pattern, projection }, run, event)) this.#change(change, run, event)
  }

  /** Without the ends of the run: it was reopened. */
  #projectAgain(each: PatternProjection, run: RunKey, { before, redone }: { before: number; redone?: string }): void {
    const { events: types, tables } = each.projection
    for (const table of tables) this.#prepare(deleteStatement(table)).run(JSON.stringify([run.run_id]))
    const ofPattern = types.filter((type) => type !== 'run:end')
    const events = this.#events
      .ofRuns([run.run_id], [...ofPattern, 'run:cut', 'run:reopen'])
      .filter(({ seq }) => seq < before)
    const counted = new Set(withoutCut(events))
    const keys = new Set([...counted].map(keyOf))
    const lastCut = new Map(events.flatMap((event) => (counted.has(event) ? [] : [[keyOf(event), event] as const])))
    for (const event of events) {
      if (event.type === 'run:cut' || event.type === 'run:reopen') continue
      const isCounted = counted.has(event)
      const isPaid = lastCut.get(keyOf(event)) === event && !keys.has(keyOf(event)) && keyOf(event) !== redone
      if (!isCounted && !isPaid) continue
      for (const change of this.#changes(each, run, event)) {
        if (change.kind === 'insert') {
          if (isCounted) this.#change(change, run, event)
          continue
        }
        this.#change({ ...change, ...(isCounted ? undefined : { values: new Map() }), scope: 'run' }, run, event)
        if (isCounted) this.#change({ ...change, added: new Map() }, run, event)
      }
    }
  }

  #keysPaidAndCut(each: PatternProjection, run: RunKey): ReadonlySet<string> {
    const id = `${run.run_id}\n${each.pattern}`
    const known = this.#cutKeys.get(id)
    if (known) return known
    const types = [...ownEvents(each.projection), 'run:cut', 'run:reopen']
    const hasCut = this.#hasEvents.get(run.id, '["run:cut"]') !== undefined
    const events = hasCut ? this.#events.ofRuns([run.run_id], types) : []
    const counted = new Set(withoutCut(events))
    const hasAdded = (event: Event) =>
      this.#changes(each, run, event).some((change) => change.kind === 'update' && change.added.size > 0)
    const keys = new Set(events.flatMap((event) => (counted.has(event) || !hasAdded(event) ? [] : keyOf(event))))
    if (this.#cutKeys.size >= MAX_CACHED_RUNS) this.#cutKeys.clear()
    this.#cutKeys.set(id, keys)
    return keys
  }

  #changes({ pattern, projection }: PatternProjection, run: RunKey, event: Event): readonly EncodedChange[] {
    const result = changesFrom(projection, event, run.project)
    if (!('problem' in result)) return result.changes
    this.catalogue.setProblem(pattern, result.problem)
    return []
  }

  /** Takes note of a run that is created: its end need not be looked up if no pattern with tables has an event in it. */
  noteCreated(run_id: string): void {
    if (this.#plainRuns.size >= MAX_CACHED_RUNS) this.#plainRuns.clear()
    this.#plainRuns.add(run_id)
  }

  /** Another process may have appended to the runs that were created here. */
  forgetRuns(): void {
    this.#plainRuns.clear()
    this.#cutKeys.clear()
  }

  /** Drops the tables of a declaration and creates those of another, both inside a transaction. */
  replace(before: CatalogueEntry | undefined, next: PatternProjection): void {
    for (const { name } of before?.declaration.tables ?? []) this.#db.exec(`DROP TABLE "${name}"`)
    for (const statement of createStatements(next.projection)) this.#db.exec(statement)
    this.catalogue.put(next)
  }

  /** Inside a transaction. */
  deleteRuns(run_ids: readonly string[]): void {
    for (const { declaration } of this.#entries)
      for (const table of declaration.tables) this.#prepare(deleteStatement(table)).run(JSON.stringify(run_ids))
  }

  rows(table: TableDefinition, scope: TableScope, page: TablePage): TableRow[] {
    const query = checkQuery(table, page)
    const { sql, values } = selectStatement(table, scope, { query, after: page.after })
    const found = this.#db.prepare(sql).all(...values)
    return found.map((record) => ({ row: toRow(table, record), position: toPosition(record, query.order.column) }))
  }

  #change(change: EncodedChange, run: RunKey, { seq }: Event): void {
    const inherited = Number(seq <= this.#inheritedCount(run))
    if (change.kind === 'update') {
      if (change.values.size + change.added.size === 0) return
      // The original run has changed the rows of other runs before.
      const { sql, values } = updateStatement(inherited === 1 ? { ...change, scope: 'run' } : change, run)
      this.#prepare(sql).run(...change.values.values(), ...change.added.values(), ...values)
      return
    }
    const { table, values } = change
    const stored: [string, SQLInputValue][] = [
      ['project_id', run.project],
      ['run_id', run.run_id],
      ['inherited', inherited],
    ]
    const names = [...values.keys(), ...stored.map(([name]) => name)]
    this.#prepare(insertStatement(table, names)).run(...values.values(), ...stored.map(([, value]) => value))
  }

  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** The number of events that a fork inherited from another run. */
  #inheritedCount(run: RunKey): number {
    const known = this.#inheritedCounts.get(run.run_id)
    if (known !== undefined) return known
    const [start] = this.#events.range(run, { to: 1 })
    const count = isEvent(start, 'run:start') ? (start.data.forked_from?.inherited ?? 0) : 0
    if (this.#inheritedCounts.size >= MAX_CACHED_RUNS) this.#inheritedCounts.clear()
    this.#inheritedCounts.set(run.run_id, count)
    return count
  }
}

function keyOf({ data }: Event): string {
  return (data as { key?: string }).key ?? ''
}

function toRow(table: TableDefinition, record: Record<string, unknown>): Row {
  return Object.fromEntries(
    storedColumns(table).map(({ name, type }) => {
      const value = record[name] ?? null
      return [name, type === 'json' && value !== null ? JSON.parse(String(value)) : value]
    }),
  )
}

function toPosition(record: Record<string, unknown>, column: string | undefined): RowPosition {
  return [column === undefined ? null : (record[column] as string | number), Number(record[PLACE])]
}
