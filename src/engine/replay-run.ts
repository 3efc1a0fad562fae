import { errorFromRecord, TroupeError, toTroupeError } from '../errors.ts'
import { compareNeeds, requireNeeds } from '../judgement/needs/run-needs.ts'
import type { Event, EventOf, RunEnd, RunStart } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { withoutCut } from '../kernel/journal/cut.ts'
import { Execution } from '../kernel/journal/execution.ts'
import type { Append, AppendOutcome } from '../kernel/journal/journal.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import { ancestorKeys } from '../kernel/journal/step-key.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { requirePattern } from '../kernel/run-input.ts'
import { Budget } from '../kernel/session/budget.ts'
import type { StartTurns } from '../kernel/session/turn-scope.ts'
import type { Store } from '../store/store.ts'
import type { EnginePorts } from './engine-ports.ts'
import { Committer } from './group-commit.ts'
import type { JournalDifference } from './journal-diff.ts'
import { canonicalEvents, diffJournals, stepKey } from './journal-diff.ts'
import { recordedNeeds } from './needs-report.ts'
import type { PendingReads } from './replay-ports.ts'
import { replayPorts } from './replay-ports.ts'
import type { Recordings } from './replay-recordings.ts'
import { recordingsFrom } from './replay-recordings.ts'
import type { ReplayWorld } from './replay-world.ts'
import { replayWorld } from './replay-world.ts'
import { cancelledError, executePattern } from './run-end.ts'
import type { RunHistory } from './run-history.ts'
import { runHistoryFrom, runMetadataFrom } from './run-history.ts'

/*
 * Executes a stored run again, offline, and compares the new journal with the stored one.
 * 1. Results come from the journal by their step keys; no model request, tool call or timer is real.
 * 2. External events (an answer, a time limit, a cancellation) are repeated when the execution is idle.
 * 3. A run that was cut short may get further in the replay than it did originally; that is not a difference.
 */

export interface ReplayReport {
  run_id: string
  same: boolean
  /** The number of stored events that were compared. */
  compared: number
  differences: JournalDifference[]
  /** The number of events that only the replay has because the run was cut short. */
  after_cut: number
}

export interface ReplayDeps {
  store: Store
  ports: Omit<EnginePorts, 'publish'>
  startTurns: StartTurns
}

export async function replayRun(deps: ReplayDeps, run_id: string): Promise<ReplayReport> {
  const journal = comparableEvents(await deps.store.events(run_id))
  const stored = withoutCut(journal)
  const { events, claimedKeys } = await executeReplay(deps, stored, journal)
  const isUnreached = unreachedKeptTest(stored, claimedKeys)
  const before = canonicalEvents(stored).filter(({ event: { key } }) => !isUnreached(key))
  const all = diffJournals(before, canonicalEvents(events))
  const differences = all.filter((difference) => !isAfterCut(stored, difference))
  return {
    run_id,
    same: differences.length === 0,
    compared: before.length,
    differences,
    after_cut: all.length - differences.length,
  }
}

/** A journal up to a resume that has not cut anything: an older version worked anew under other keys, or the run did not get that far. */
function comparableEvents(events: readonly Event[]): readonly Event[] {
  const lastCut = events.findLastIndex((event) => isEvent(event, 'run:cut'))
  const end = events.findIndex((event, index) => index > lastCut && isEvent(event, 'run:reopen') && namesSteps(event))
  return end === -1 ? events : events.slice(0, end)
}

function namesSteps({ data: { key, additional_keys = [] } }: EventOf<'run:reopen'>): boolean {
  return key !== null || additional_keys.length > 0
}

/** Tells whether a step belongs to a session with `keep` that the run has not reached after a cut. */
function unreachedKeptTest(stored: readonly Event[], claimedKeys: ReadonlySet<string>): (key: string) => boolean {
  const lastCut = stored.findLast((event) => isEvent(event, 'run:cut'))?.seq ?? 0
  const kept = new Set(
    stored.flatMap((event) =>
      isEvent(event, 'session:open') && event.data.keep && event.seq < lastCut && !claimedKeys.has(event.data.key)
        ? event.data.key
        : [],
    ),
  )
  return (key) => kept.size > 0 && [key, ...ancestorKeys(key)].some((each) => kept.has(each))
}

/** The journal that a replay gives, and the steps that it reached. */
interface ReplayedRun {
  events: Event[]
  claimedKeys: ReadonlySet<string>
}

async function executeReplay(
  deps: ReplayDeps,
  stored: readonly Event[],
  journal: readonly Event[],
): Promise<ReplayedRun> {
  const history = runHistoryFrom(stored)
  const pattern = requireReplayPattern(deps, history.start)
  await pattern.complete?.()
  requirePatterns(deps, stored)
  const recordings = recordingsFrom(stored)
  const replay = createReplay(deps, { stored, journal, history, pattern, recordings })
  const { execution, pendingReads } = replay
  let end: RunEnd | undefined
  void executePattern({ execution, startTurns: deps.startTurns }, pattern, history.start.input).then((reached) => {
    end = reached
  })
  const activity = () => [execution.claimedKeys.size, execution.journal.head, pendingReads.count, end?.status].join()
  await waitUntilIdle(activity, pendingReads)
  // Answers and time limits of what the replay has not begun yet: before a cut, branches do not wait for slots.
  let early: Event[] = []
  for (const event of stored) {
    const due = end ? [] : [event, ...early]
    early = []
    for (const each of due) {
      if (replayExternalEvent(each, replay)) await waitUntilIdle(activity, pendingReads)
      else if (isEvent(each, 'gate:answer') || isOwnTimeout(each)) early.push(each)
    }
  }
  end ??= history.end?.error?.code === 'quarantined' ? history.end : undefined
  if (end) execution.journal.append('run:end', end)
  await execution.journal.commit()
  const { claimedKeys, journalIndex } = execution
  const used = new Set(claimedKeys)
  for (const key of recordings.events.map(stepKey)) if (claimedKeys.has(journalIndex.currentKey(key))) used.add(key)
  const recorded = recordings.events.filter((event) => recordings.isUsed(event, used))
  return { events: [...stored.slice(0, 1), ...recorded, ...replay.written], claimedKeys: used }
}

interface Replay {
  execution: Execution
  world: ReplayWorld
  pendingReads: PendingReads
  /** Events that the replay has written so far. */
  written: readonly Event[]
}

interface ReplaySource {
  stored: readonly Event[]
  /** With the work that was cut. */
  journal: readonly Event[]
  history: RunHistory
  pattern: Pattern
  recordings: Recordings
}

function createReplay(deps: ReplayDeps, { stored, journal: all, history, pattern, recordings }: ReplaySource): Replay {
  const { project, model } = history.start
  const world = replayWorld(stored[0]?.at ?? 0)
  const pendingReads = { count: 0 }
  const ports = replayPorts({ ...deps, world, pendingReads }, stored)
  const run = {
    id: stored[0]?.run_id ?? '',
    project,
    limits: history.limits,
    model,
    metadata: runMetadataFrom(history.start),
  }
  const written: Event[] = []
  const committer = new Committer({ append: (batch) => collectEvents(batch, written) }, world, () => {})
  const journal = committer.open({ run_id: run.id, project, epoch: 1, head: all.length })
  const recorded = new JournalIndex(recordings.events, pattern.renamedKeys)
  // A session calls this just before it sets its time limit: it tells timers of equal length apart.
  recorded.activeMsSince = (key) => {
    world.keyNextTimer(key)
    return 0
  }
  const budget = new Budget({ ...run.limits, calls: null, tokens: null, usd: null, concurrency: 1_000_000 })
  // Recorded responses are not charged again; a partial output may contain what the run has used.
  for (const event of all) budget.recordEvent(event)
  const execution = new Execution({ run, ports, journal, scheduler: committer, recorded, budget })
  // The clock stands still: time spent waiting for a person must not extend a recorded time limit.
  execution.gateWaitMs = () => 0
  return { execution, world, pendingReads, written }
}

/** Recordings stand in for everything but patterns, whose code is executed again: without one, the journals would differ. */
function requirePatterns({ ports }: ReplayDeps, stored: readonly Event[]): void {
  const { started_by, patterns } = recordedNeeds(stored) ?? {}
  if (started_by && patterns)
    requireNeeds(stored[0]?.run_id ?? '', compareNeeds({ started_by, patterns }, ports.host.provided))
}

function requireReplayPattern({ ports }: ReplayDeps, { pattern: name }: RunStart): Pattern {
  try {
    return requirePattern(ports.patterns, name)
  } catch (thrown) {
    const error = toTroupeError(thrown)
    throw new TroupeError(error.code, error.message, {
      alternatives: error.alternatives,
      hint: 'call troupe.replay(run_id) in the program that defines the pattern',
    })
  }
}

function collectEvents(batch: readonly Append[], written: Event[]): AppendOutcome[] {
  for (const { events } of batch) written.push(...events)
  return batch.map(() => ({ ok: true }))
}

/** Event-loop turns without activity after which the execution counts as idle. */
const IDLE_TICKS = 20

async function waitUntilIdle(activity: () => string, pendingReads: PendingReads): Promise<void> {
  let last = activity()
  for (let idle = 0; idle < IDLE_TICKS; idle++) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const now = activity()
    if (now !== last || pendingReads.count > 0) idle = 0
    last = now
  }
}

/** Sub-sessions of the session that timed out end with the same error. */
function isOwnTimeout(event: Event): event is EventOf<'session:end'> {
  if (!isEvent(event, 'session:end')) return false
  const { key, error } = event.data
  return error?.code === 'timeout' && error.step === key
}

/** Repeats an answer, a time limit or a cancellation. Returns false for any other event. */
function replayExternalEvent(event: Event, { execution, world, written }: Replay): boolean {
  if (isEvent(event, 'gate:answer')) {
    const { key, answer, by } = event.data
    const gate = written.find((question) => isEvent(question, 'gate:open') && question.data.key === key)
    if (isEvent(gate, 'gate:open')) void execution.answerGate(gate.data, { answer, by })
    return gate !== undefined
  }
  if (isOwnTimeout(event)) return world.expireTimer(event.data.key)
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

/** True for an event that only the replay has, in a run or session that did not end or was cut short. */
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
