import { errorFromRecord, TroupeError, unknownNameError } from '../errors.ts'
import type { Event, RunEnd, RunStart } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { Execution } from '../kernel/journal/execution.ts'
import type { Append, AppendOutcome } from '../kernel/journal/journal.ts'
import { Committer } from '../kernel/journal/journal.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { Budget } from '../kernel/session/budget.ts'
import { createContext } from '../kernel/session/pattern-context.ts'
import type { Store } from '../store/store.ts'
import type { JournalDifference } from './journal-diff.ts'
import { canonicalEvents, diffJournals, stepKey } from './journal-diff.ts'
import type { PendingReads } from './replay-ports.ts'
import { replayPorts } from './replay-ports.ts'
import { recordingsFrom } from './replay-recordings.ts'
import type { ReplayWorld } from './replay-world.ts'
import { replayWorld } from './replay-world.ts'
import { cancelledError, runEndFromError, runEndFromResult } from './run-end.ts'
import { runHistoryFrom } from './run-history.ts'

/*
 * Executes a stored run again, offline, and compares what comes of it with what is stored.
 * 1. Leaves come from the journal by their keys; nothing is asked, called or waited for.
 * 2. What stopped a run from outside (a cancellation, a time limit) stops it again when nothing else can go on.
 * 3. Where a run was cut short, the replay may get a little further than the run did before it noticed; that is no
 *    difference.
 */

export interface ReplayReport {
  run_id: string
  same: boolean
  /** Facts that were compared. */
  compared: number
  differences: JournalDifference[]
  /** Facts of the replay that the run was cut short before. */
  after_cut: number
}

export interface ReplayDeps {
  store: Store
  ports: Omit<Ports, 'publish'>
}

export async function replayRun(site: ReplayDeps, run_id: string): Promise<ReplayReport> {
  const stored = await site.store.events(run_id)
  const replayed = await executeReplay(site, stored)
  const before = canonicalEvents(stored)
  const all = diffJournals(before, canonicalEvents(replayed))
  const differences = all.filter((difference) => !isAfterCut(stored, difference))
  return {
    run_id,
    same: differences.length === 0,
    compared: before.length,
    differences,
    after_cut: all.length - differences.length,
  }
}

/** The journal that executing the run again gives. */
async function executeReplay(site: ReplayDeps, stored: readonly Event[]): Promise<Event[]> {
  const facts = runHistoryFrom(stored)
  const pattern = requirePattern(site, facts.start)
  const leaves = recordingsFrom(stored)
  const world = replayWorld(stored[0]?.at ?? 0)
  const reading = { count: 0 }
  const ports = replayPorts({ ...site, world, reading }, stored)
  const { project, model, input } = facts.start
  const run = { id: stored[0]?.run_id ?? '', project, limits: facts.limits, model }
  const written: Event[] = []
  const committer = new Committer({ append: (batch) => collectEvents(batch, written) }, world, () => {})
  const journal = committer.open({ run_id: run.id, project, epoch: 1, head: stored.length })
  const recorded = new JournalIndex(leaves.events, pattern.renamedKeys)
  // A session asks this just before it sets the timer for its time limit: else two of the same length look alike.
  recorded.activeMsSince = (key) => {
    world.keyNextTimer(key)
    return 0
  }
  const budget = new Budget({ ...run.limits, calls: null, tokens: null, usd: null, concurrency: 1_000_000 })
  const execution = new Execution({ run, ports, journal, committer, recorded, budget })
  // No time passes here: that a person was asked when a time limit was over must not keep it from being over.
  execution.gateWaitMs = () => 0
  let end: RunEnd | undefined
  void (async () =>
    runEndFromResult(
      pattern.name,
      await pattern.execute(
        createContext({ execution, path: '', caller: undefined, signal: execution.signal }),
        input as never,
      ),
    ))()
    .catch((thrown: unknown) => runEndFromError(execution, thrown))
    .then((reached) => {
      end = reached
    })
  const activity = () => [execution.claimedKeys.size, journal.head, reading.count, end?.status].join()
  await waitUntilIdle(activity, reading)
  for (const event of stored) {
    if (end || !replayExternalEvent(event, { execution, world, written: written })) continue
    await waitUntilIdle(activity, reading)
  }
  end ??= facts.end?.error?.code === 'quarantined' ? facts.end : undefined
  if (end) journal.append('run:end', end)
  await journal.commit()
  return [
    ...stored.slice(0, 1),
    ...leaves.events.filter((seed) => leaves.isUsed(seed, execution.claimedKeys)),
    ...written,
  ]
}

function requirePattern({ ports }: ReplayDeps, { pattern: name }: RunStart): Pattern {
  const pattern = ports.patterns.get(name)
  if (pattern) return pattern
  const error = unknownNameError('unknown_pattern', { kind: 'pattern', name, known: [...ports.patterns.keys()] })
  throw new TroupeError('unknown_pattern', error.message, {
    alternatives: error.alternatives,
    hint: 'a run of a pattern of your own is replayed by the program that defines it: troupe.replay(run_id)',
  })
}

function collectEvents(batch: readonly Append[], written: Event[]): AppendOutcome[] {
  for (const { events } of batch) written.push(...events)
  return batch.map(() => ({ ok: true }))
}

/** Turns of the event loop without anything happening after which nothing will happen any more. */
const IDLE_TICKS = 20

async function waitUntilIdle(activity: () => string, reading: PendingReads): Promise<void> {
  let last = activity()
  for (let still = 0; still < IDLE_TICKS; still++) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const now = activity()
    if (now !== last || reading.count > 0) still = 0
    last = now
  }
}

interface ReplayExecution {
  execution: Execution
  world: ReplayWorld
  /** What has been written so far. */
  written: readonly Event[]
}

/** Lets what came from outside happen again, in the order of the journal: an answer, a time limit, a cancellation. */
function replayExternalEvent(event: Event, { execution, world, written }: ReplayExecution): boolean {
  if (isEvent(event, 'gate:answer')) {
    const { key, answer, by } = event.data
    const gate = written.find((question) => isEvent(question, 'gate:open') && question.data.key === key)
    if (isEvent(gate, 'gate:open')) void execution.answerGate(gate.data, answer, by)
    return gate !== undefined
  }
  if (isEvent(event, 'session:end') && event.data.error?.code === 'timeout') {
    // Sessions below the one whose time was over end with the same error.
    if (event.data.error.step === event.data.key) world.expireTimer(event.data.key)
    return true
  }
  if (isEvent(event, 'run:cancel')) {
    execution.journal.append('run:cancel', event.data)
    execution.abort(cancelledError(event.data.reason))
    return true
  }
  const error = isEvent(event, 'run:end') ? event.data.error : null
  if (error?.code !== 'limit_reached' || error.alternatives[0] !== 'wall_ms') return false
  execution.abort(errorFromRecord(error))
  return true
}

const CUT_SHORT_REASONS = new Set(['budget', 'timeout', 'cancelled'])

/** Told only by the replay, and below something that had no end or was cut short. */
function isAfterCut(stored: readonly Event[], { key, seq }: JournalDifference): boolean {
  if (seq[0] !== null) return false
  const end = stored.findLast((event) => isEvent(event, 'run:end'))
  if (!end || (isEvent(end, 'run:end') && end.data.stop_reason === 'cancelled')) return true
  return stored.some(
    (event) =>
      isEvent(event, 'session:end') &&
      CUT_SHORT_REASONS.has(event.data.stop_reason) &&
      stepKey(event) !== key &&
      key.startsWith(`${stepKey(event)}/`),
  )
}
