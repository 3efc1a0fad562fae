import type { StoreProblem } from '../store.ts'
import type { ChainedRecord } from './event-chain.ts'
import { ChainCheck } from './event-chain.ts'
import { blobMarkers, contentHash } from './event-data.ts'
import type { Database } from './node-sqlite.ts'

interface JournalRecord extends ChainedRecord {
  run_id: string
  project: string
  head: number
}

/** Stored JSON with the place it is at. */
interface StoredData {
  run_id: string
  project: string
  part: string
  data: string
  seq?: number
}

/** Checks the journals of all runs, or of one: sequence, hash chain, JSON and the long values, which are stored as blobs. */
export function* checkJournals(db: Database, run_id: string | undefined): Iterable<StoreProblem> {
  const blobs = new BlobCheck(db)
  const where = run_id === undefined ? '' : 'WHERE runs.run_id = ?'
  const runs = db.prepare(`SELECT id, run_id, project, head FROM runs ${where} ORDER BY id`)
  const found: unknown[] = run_id === undefined ? runs.all() : runs.all(run_id)
  for (const { id, ...identity } of found as (Pick<JournalRecord, 'run_id' | 'project' | 'head'> & { id: number })[]) {
    yield* journalProblems({ db, id, blobs }, identity)
    yield* commandProblems({ db, id, blobs }, identity)
  }
  if (run_id === undefined) yield* blobs.unusedProblems()
}

interface CheckedRun {
  db: Database
  id: number
  blobs: BlobCheck
}

function* journalProblems(
  { db, id, blobs }: CheckedRun,
  { run_id, project, head }: Pick<JournalRecord, 'run_id' | 'project' | 'head'>,
): Iterable<StoreProblem> {
  const records = db.prepare(
    `SELECT seq, at, events.type, sessions.session_id, data, hash FROM events
     LEFT JOIN sessions ON sessions.id = events.session WHERE events.run = ? ORDER BY seq`,
  )
  const chain = new ChainCheck(run_id)
  const found: Iterable<unknown> = records.iterate(id)
  let last = 0
  for (const record of found as Iterable<ChainedRecord>) {
    const { seq, data } = record
    last = seq
    const found = [...blobs.dataProblems({ run_id, project, part: `event ${seq}`, data, seq })]
    yield* found
    for (const problem of chain.next(record)) {
      const isKnown = problem.rule === 'chain' && found.some(({ rule }) => rule === 'data')
      if (!isKnown) yield { rule: problem.rule, run_id, seq: problem.seq, message: `run ${run_id}: ${problem.problem}` }
    }
  }
  if (last === head) return
  const message =
    last < head
      ? `its last events, ${last + 1} to ${head}, are missing`
      : `it is at event ${head}, but has event ${last}`
  yield { rule: 'sequence', run_id, seq: Math.min(last, head) + 1, message: `run ${run_id}: ${message}` }
}

/** The answer of a person can be as large as any event. */
function* commandProblems(
  { db, id, blobs }: CheckedRun,
  { run_id, project }: Pick<JournalRecord, 'run_id' | 'project'>,
): Iterable<StoreProblem> {
  for (const command of db.prepare('SELECT id, body FROM commands WHERE run = ? ORDER BY id').iterate(id))
    yield* blobs.dataProblems({ run_id, project, part: `command ${String(command.id)}`, data: String(command.body) })
}

/** Checks that the blobs of stored data are there and have the content that their hash names. */
class BlobCheck {
  readonly #db: Database
  readonly #content
  /** By hash and project: the problem, or `undefined`. */
  readonly #checked = new Map<string, string | undefined>()

  constructor(db: Database) {
    this.#db = db
    this.#content = db.prepare('SELECT content FROM blobs WHERE project = ? AND hash = ?')
  }

  *dataProblems({ run_id, project, part, data, seq }: StoredData): Iterable<StoreProblem> {
    const place = { run_id, ...(seq === undefined ? undefined : { seq }) }
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      yield { rule: 'data', ...place, message: `run ${run_id}, ${part}: the data is not JSON` }
      return
    }
    if (!data.includes('"$blob"')) return
    for (const { marker, path } of blobMarkers(value)) {
      const problem = this.#problem(project, marker.$blob)
      if (problem !== undefined)
        yield {
          rule: 'blob',
          ...place,
          message: `run ${run_id}, ${part}: ${path} ${problem} (blob ${marker.$blob}, ${marker.size} bytes)`,
        }
    }
  }

  /** Blobs with changed content that were not checked yet: no event or command uses them. */
  *unusedProblems(): Iterable<StoreProblem> {
    for (const { project, hash, content } of this.#db.prepare('SELECT project, hash, content FROM blobs').iterate()) {
      if (this.#checked.has(blobKey(String(project), String(hash)))) continue
      if (contentHash(String(content)) !== hash)
        yield { rule: 'blob', message: `blob ${String(hash)} has changed content, or is not from Troupe` }
    }
  }

  #problem(project: string, hash: string): string | undefined {
    const key = blobKey(project, hash)
    if (this.#checked.has(key)) return this.#checked.get(key)
    const content = this.#content.get(project, hash)?.content
    const problem =
      content === undefined ? 'is missing' : contentHash(String(content)) === hash ? undefined : 'has changed content'
    this.#checked.set(key, problem)
    return problem
  }
}

function blobKey(project: string, hash: string): string {
  return `${hash}${project}`
}
