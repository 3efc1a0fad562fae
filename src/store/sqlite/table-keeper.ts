import { setImmediate as nextTick } from 'node:timers/promises'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { TablePage, TableRow, TableScope } from '../store.ts'
import { checkProjections, declarationJson } from '../tables/declaration.ts'
import type { PatternProjection } from '../tables/projection.ts'
import type { SqliteConnection } from './connection.ts'
import type { RunKey } from './event-table.ts'
import { JOINED_COLUMNS } from './event-table.ts'
import type { CatalogueEntry } from './projection-catalogue.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. Tables are created and filled in one transaction: a process killed in it leaves the tables as they were.
 * 2. Journals are searched for events of the pattern before that transaction, in pages, so that other writers wait only while the found
 *    events and the newest ones are read.
 * 3. A declaration never replaces one with a higher version: an older program leaves the tables of a newer one alone.
 */

const IDS_PER_PAGE = 20_000
const EVENTS_PER_PAGE = 500

/** Creates and fills the tables of patterns, and reads their rows. */
export class TableKeeper {
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #sql

  constructor(connection: SqliteConnection, tables: Tables) {
    this.#connection = connection
    this.#tables = tables
    this.#sql = {
      newestId: connection.db.prepare('SELECT coalesce(max(id), 0) AS id FROM events'),
      idsByType: connection.db.prepare(
        'SELECT id FROM events WHERE id > ? AND id <= ? AND type IN (SELECT value FROM json_each(?)) ORDER BY id',
      ),
      byIds: connection.db.prepare(
        `SELECT ${JOINED_COLUMNS} FROM json_each(?) AS wanted CROSS JOIN events ON events.id = wanted.value
         JOIN runs ON runs.id = events.run LEFT JOIN sessions ON sessions.id = events.session ORDER BY events.id`,
      ),
    }
  }

  async keep(projections: readonly PatternProjection[]): Promise<void> {
    const { patterns } = this.#tables
    checkProjections(projections)
    await this.#connection.retry(() => patterns.setKnown(projections))
    const outdated = projections.filter((each) => this.#isOutdated(each))
    for (const each of outdated) await this.#rebuild(each)
  }

  async query(scope: TableScope, page: TablePage): Promise<TableRow[]> {
    const entry = await this.#connection.retry(() => this.#requireEntry(page.table))
    if (entry.stale) await this.#rebuildStale(entry, page.table)
    return this.#connection.retry(() => {
      const { declaration } = this.#requireEntry(page.table)
      const table = declaration.tables.find(({ name }) => name === page.table)
      return table ? this.#tables.patterns.rows(table, scope, page) : []
    })
  }

  #requireEntry(table: string): CatalogueEntry {
    const { patterns } = this.#tables
    patterns.readCatalogue()
    const entry = patterns.entries.find(({ declaration }) => declaration.tables.some(({ name }) => name === table))
    if (entry) return entry
    const known = patterns.entries.flatMap(({ declaration }) => declaration.tables.map(({ name }) => name))
    throw unknownNameError('invalid_input', { kind: 'table', name: String(table), known })
  }

  async #rebuildStale(entry: CatalogueEntry, table: string): Promise<void> {
    const known = this.#tables.patterns.known(entry.pattern)
    if (known && declarationJson(known.projection) === entry.json) return this.#rebuild(known)
    const { version } = entry.declaration
    throw new TroupeError(
      'needs_missing',
      `the table '${table}' lacks rows of programs without version ${version} of the pattern '${entry.pattern}'`,
      { hint: `read it with a program that has this version of the pattern: it computes the missing rows` },
    )
  }

  /** True if the tables have to be computed. Throws `invalid_input` if another pattern has tables with these names. */
  #isOutdated(each: PatternProjection): boolean {
    const { entries } = this.#tables.patterns
    const others = entries.filter(({ pattern }) => pattern !== each.pattern)
    checkProjections([...others.map(({ pattern, declaration }) => ({ pattern, projection: declaration })), each])
    const entry = entries.find(({ pattern }) => pattern === each.pattern)
    if (!entry) return true
    if (entry.json === declarationJson(each.projection)) return entry.stale
    return each.projection.version >= entry.declaration.version
  }

  async #rebuild(each: PatternProjection): Promise<void> {
    const { patterns } = this.#tables
    const types = JSON.stringify([...each.projection.events, 'run:cut'])
    const { ids, newest } = await this.#findEvents(types)
    await this.#connection.write('full', () => {
      patterns.readCatalogue()
      // Another process may have done it meanwhile.
      if (!this.#isOutdated(each)) return
      patterns.replace(
        patterns.entries.find(({ pattern }) => pattern === each.pattern),
        each,
      )
      this.#fill(each, [...ids, ...this.#idsBetween(newest, Number.MAX_SAFE_INTEGER, types)])
    })
    await this.#connection.retry(() => patterns.readCatalogue())
  }

  /** The row ids of all events of these types so far. */
  async #findEvents(types: string): Promise<{ ids: number[]; newest: number }> {
    const newest = await this.#connection.retry(() => Number(this.#sql.newestId.get()?.id))
    const ids: number[] = []
    for (let after = 0; after < newest; after += IDS_PER_PAGE) {
      const last = Math.min(after + IDS_PER_PAGE, newest)
      ids.push(...(await this.#connection.retry(() => this.#idsBetween(after, last, types))))
      await nextTick()
    }
    return { ids, newest }
  }

  #idsBetween(after: number, last: number, types: string): number[] {
    return this.#sql.idsByType.all(after, last, types).map(({ id }) => Number(id))
  }

  #fill(each: PatternProjection, ids: readonly number[]): void {
    const { events, runs, patterns } = this.#tables
    const keys = new Map<string, RunKey>()
    for (let start = 0; start < ids.length; start += EVENTS_PER_PAGE) {
      const page = this.#sql.byIds.all(JSON.stringify(ids.slice(start, start + EVENTS_PER_PAGE)))
      for (const event of events.decodeJoined(page)) {
        const run = keys.get(event.run_id) ?? runs.requireKey(event.run_id)
        keys.set(event.run_id, run)
        patterns.project(each, run, event)
      }
    }
  }
}
