import { setTimeout as sleep } from 'node:timers/promises'
import { brokenLinkError, compactionBusyError } from '../deletion.ts'
import { validateLease } from '../preconditions.ts'
import type { SqliteConnection } from './connection.ts'
import type { Database } from './node-sqlite.ts'
import type { RunState } from './run-table.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. A group of linked runs is deleted in one transaction: a crash leaves all of it or nothing.
 * 2. Blobs are deleted later, in another transaction. A crash between the two leaves blobs that nobody uses; the next
 *    compaction deletes them.
 * 3. Ids of sessions and commands are not used again: other processes remember them. The row with the greatest id stays,
 *    without its content.
 * 4. Other processes drop what they remember of blobs and sessions before their next write (`forgetRows`).
 */

const SEGMENTS = 'SELECT session, run FROM segments UNION SELECT id, run FROM sessions WHERE opened_event IS NOT NULL'
/** Each run with the first run of a session that it continues. */
const SHARED_SESSIONS = `
  WITH parts (session, run) AS (${SEGMENTS}),
    firsts (session, run) AS (SELECT session, min(run) FROM parts GROUP BY session HAVING count(*) > 1)
  SELECT DISTINCT a.run_id AS a, b.run_id AS b FROM firsts JOIN parts ON parts.session = firsts.session
  JOIN runs AS a ON a.id = firsts.run JOIN runs AS b ON b.id = parts.run WHERE a.id != b.id AND a.project = ?1`
/** Forks read sessions of the runs that their origin had continued. */
const READ_SESSIONS = `
  SELECT DISTINCT a.run_id AS a, b.run_id AS b FROM events JOIN runs AS a ON a.id = events.run
  JOIN runs AS b ON b.run_id = json_extract(data, '$.base.run_id')
  WHERE type = 'session:open' AND instr(data, '"base"') AND a.id != b.id AND a.project = ?1`

const CHECKPOINT_ATTEMPTS = 20
const CHECKPOINT_DELAY_MS = 25

function statements(db: Database) {
  const ofRun = (sql: string) => db.prepare(sql)
  return {
    linked: db.prepare(`${SHARED_SESSIONS} UNION ${READ_SESSIONS}`),
    leased: db.prepare('SELECT run_id FROM runs WHERE owner IS NOT NULL AND lease_until > ? LIMIT 1'),
    eventBytes: db.prepare('SELECT coalesce(sum(length(data) + 64), 0) AS bytes FROM events WHERE run = ?'),
    markers: db.prepare(
      `SELECT events.run, project, data FROM events JOIN runs ON runs.id = events.run WHERE instr(data, '"$blob"')
       UNION ALL
       SELECT commands.run, project, body FROM commands JOIN runs ON runs.id = commands.run WHERE instr(body, '"$blob"')`,
    ),
    blobs: db.prepare('SELECT rowid AS id, project, hash, length(content) AS bytes FROM blobs'),
    deleteBlob: db.prepare('DELETE FROM blobs WHERE rowid = ?'),
    pages: db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()'),
    deletions: [
      'DELETE FROM run_words WHERE run = ?',
      'DELETE FROM gates WHERE run = ?',
      'DELETE FROM artifacts WHERE run = ?',
      'DELETE FROM commands WHERE run = ? AND id < (SELECT max(id) FROM commands)',
      `UPDATE commands SET run = -1, gate_id = NULL, body = '{}' WHERE run = ?`,
      'DELETE FROM segments WHERE session IN (SELECT id FROM sessions WHERE run = ?)',
      'DELETE FROM sessions WHERE run = ? AND id < (SELECT max(id) FROM sessions)',
      `UPDATE sessions SET session_id = 'deleted-' || id, project = NULL, opened_at = NULL, opened_event = NULL,
         ended_event = NULL, holder = NULL, segment = NULL, place = NULL, run = NULL, from_seq = NULL, to_seq = NULL,
         cache_key = NULL WHERE run = ?`,
      'DELETE FROM events WHERE run = ?',
      'DELETE FROM runs WHERE id = ?',
    ].map(ofRun),
  }
}

export class RunDeletion {
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #sql

  constructor(connection: SqliteConnection, tables: Tables) {
    this.#connection = connection
    this.#tables = tables
    this.#sql = statements(connection.db)
  }

  linkedRuns(project: string): (readonly [string, string])[] {
    return this.#sql.linked.all(project).map(({ a, b }) => [String(a), String(b)] as const)
  }

  sizeOfRuns(run_ids: readonly string[]): number {
    const ids = new Set(run_ids.map((run_id) => this.#tables.runs.requireRun(run_id).id))
    let bytes = 0
    for (const id of ids) bytes += Number(this.#sql.eventBytes.get(id)?.bytes ?? 0)
    const used = this.#usedBlobs((run) => !ids.has(run))
    const own = this.#usedBlobs((run) => ids.has(run))
    for (const blob of this.#sql.blobs.iterate()) {
      const name = blobName(blob)
      if (own.has(name) && !used.has(name)) bytes += Number(blob.bytes)
    }
    return bytes
  }

  /** Inside a transaction. */
  deleteRuns(run_ids: readonly string[]): void {
    const { runs } = this.#tables
    const found = run_ids.map((run_id) => runs.requireRun(run_id))
    for (const run of found) this.#requireIdle(run)
    const deleted = new Set(run_ids)
    for (const project of new Set(found.map((run) => run.project))) {
      const error = brokenLinkError(this.linkedRuns(project), deleted)
      if (error) throw error
    }
    this.#tables.patterns.deleteRuns(run_ids)
    for (const { id } of found) for (const statement of this.#sql.deletions) statement.run(id)
  }

  async compact(): Promise<number> {
    const before = this.#fileBytes()
    await this.#connection.write('full', () => {
      const leased = this.#sql.leased.get(this.#tables.runs.now())?.run_id
      if (leased !== undefined) throw compactionBusyError(String(leased))
      this.#deleteUnusedBlobs()
    })
    await this.#connection.retry(() => this.#connection.db.exec('VACUUM'))
    await this.#truncateLog()
    return Math.max(0, before - this.#fileBytes())
  }

  /** Moves the pages from the log into the file, which shrinks then; another reader delays this until the file is closed. */
  async #truncateLog(): Promise<void> {
    const checkpoint = this.#connection.db.prepare('PRAGMA wal_checkpoint(TRUNCATE)')
    // While a checkpoint of another process is in progress, this one reports `busy` instead of failing.
    for (let attempt = 1; attempt <= CHECKPOINT_ATTEMPTS; attempt++) {
      const result = await this.#connection.retry(() => checkpoint.get())
      if (result?.busy === 0) return
      await sleep(CHECKPOINT_DELAY_MS)
    }
  }

  #deleteUnusedBlobs(): void {
    const used = this.#usedBlobs(() => true)
    const unused = this.#sql.blobs.all().filter((blob) => !used.has(blobName(blob)))
    for (const { id } of unused) this.#sql.deleteBlob.run(Number(id))
  }

  /** The blobs that events and commands of these runs refer to. In encoded data every `"$blob"` is a marker. */
  #usedBlobs(isCounted: (run: number) => boolean): Set<string> {
    const names = new Set<string>()
    for (const { run, project, data } of this.#sql.markers.iterate()) {
      if (!isCounted(Number(run))) continue
      for (const [, hash] of String(data).matchAll(/"\$blob":"([^"]+)"/g)) names.add(blobName({ project, hash }))
    }
    return names
  }

  #requireIdle(run: RunState): void {
    const error = validateLease(run, { owner: '', ttl_ms: 0 }, this.#tables.runs.now())
    if (error) throw error
  }

  #fileBytes(): number {
    return Number(this.#sql.pages.get()?.bytes ?? 0)
  }
}

function blobName({ project, hash }: Record<string, unknown>): string {
  return `${String(hash)} ${String(project)}`
}
