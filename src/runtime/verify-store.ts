import { verifyJournal } from '../audit/verify-journal.ts'
import { toTroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { openMemory } from '../store/sqlite.ts'
import type { RunRow, Store, StoreProblem } from '../store/store.ts'
import { verifyRows } from '../store/verify-rows.ts'
import { requireRun, runPages } from './run-lookup.ts'

/** Damage that `verify` found. */
export interface VerifyFinding {
  /** A stable short name: of the store (`chain`, `blob`, `row`, …) or of the audit of a journal (`settled_twice`, …). */
  rule: string
  message: string
  hint: string
  run_id?: string
  /** The event that it is about. */
  seq?: number
}

export interface VerifyReport {
  /** A path, an address, or `memory`. */
  location: string
  runs: number
  events: number
  /** Empty if nothing is damaged. */
  findings: VerifyFinding[]
}

const RUNS_PER_PAGE = 100
const RESTORE =
  'restore a backup of the store (troupe backup makes one); runs without a finding can be used as they are'
const HINTS: Partial<Record<string, string>> = {
  log: 'put the log back, or restore a backup; to go on with what is left: troupe verify --accept-loss',
  structure: `copy what can be read with: troupe backup FILE; then ${RESTORE}`,
  row: 'the journal is right: read it with troupe show RUN --events; restore a backup to get lists and counts right',
  words: 'the run is found by its id; restore a backup to find it by its words',
  table: 'metrics may be incomplete; the journal is right',
  fork: 'fork the original run again: troupe fork RUN --at SEQ',
  command: 'the run ignores it; send it again',
}

/** Checks the whole store, or one run, for damage. */
export async function verifyStore(store: Store, project: string, run_id?: string): Promise<VerifyReport> {
  const runs = run_id === undefined ? allRuns(store, project) : [await requireRun(store, project, run_id)]
  const problems = await store.checkIntegrity(run_id)
  const report: VerifyReport = { location: store.location, runs: 0, events: 0, findings: problems.map(toFinding) }
  const empty = openMemory()
  for await (const row of runs) {
    report.runs += 1
    const known = problems.filter((problem) => problem.run_id === row.run_id)
    try {
      const events = await readJournal(store, row)
      report.events += events.length
      report.findings.push(...(await runFindings(store, { row, events, empty, isDamaged: known.length > 0 })))
    } catch (thrown) {
      // The store has reported the event that cannot be read.
      if (known.length === 0)
        report.findings.push(toFinding({ rule: 'data', run_id: row.run_id, message: toTroupeError(thrown).message }))
    }
  }
  await empty.close()
  return report
}

async function* allRuns(store: Store, project: string): AsyncIterable<RunRow> {
  for await (const page of runPages(store, project, RUNS_PER_PAGE)) yield* page
}

/** The journal up to the head of the row: a run that is executed goes on meanwhile. */
async function readJournal(store: Store, { run_id, head }: RunRow): Promise<Event[]> {
  return store.events(run_id, { to: head })
}

interface RunToCheck {
  row: RunRow
  events: readonly Event[]
  /** A store without runs. */
  empty: Store
  /** The store itself has found damage: rows and steps that miss an event would only repeat it. */
  isDamaged: boolean
}

async function runFindings(store: Store, { row, events, empty, isDamaged }: RunToCheck): Promise<VerifyFinding[]> {
  if (isDamaged) return []
  const { run_id } = row
  const journal = verifyJournal(events).map(
    ({ rule, seq, message }): VerifyFinding => ({
      rule,
      run_id,
      seq,
      message: `run ${run_id}, event ${seq}: ${message}`,
      hint: `look at it with: troupe show ${run_id} --events; Troupe would not have written this journal`,
    }),
  )
  const problems = [
    // Its rows may be newer than the journal that was read.
    ...(row.owner === null ? await verifyRows(store, empty, { row, events }) : []),
    ...(await forkProblems(store, row, events)),
    ...(await commandProblems(store, row)),
  ]
  return [...journal, ...problems.map(toFinding)]
}

async function forkProblems(store: Store, { run_id, head }: RunRow, events: readonly Event[]): Promise<StoreProblem[]> {
  const [start] = events
  if (!isEvent(start, 'run:start') || !start.data.forked_from) return []
  const { run_id: origin, seq, inherited } = start.data.forked_from
  const found = (message: string): StoreProblem => ({ rule: 'fork', run_id, message: `run ${run_id}: ${message}` })
  if (head < inherited) return [found(`it has ${head} of the ${inherited} events that it inherits from ${origin}`)]
  const original = await store.run(origin)
  if (!original || original.head >= seq) return []
  return [found(`it was forked from ${origin} at event ${seq}, but that run ends at event ${original.head}`)]
}

async function commandProblems(store: Store, { run_id }: RunRow): Promise<StoreProblem[]> {
  const problems: StoreProblem[] = []
  for (const { id, body } of await store.commands(run_id, 0)) {
    if (body.kind !== 'answer' || (await store.gate(body.gate_id))?.run_id === run_id) continue
    const message = `run ${run_id}: command ${id} answers the question ${body.gate_id}, which the run did not ask`
    problems.push({ rule: 'command', run_id, message })
  }
  return problems
}

function toFinding(problem: StoreProblem): VerifyFinding {
  return { ...problem, hint: HINTS[problem.rule] ?? RESTORE }
}
