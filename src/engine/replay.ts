import { fromRecord, TroupeError, unknownName } from '../errors.ts'
import { Budget } from '../kernel/budget.ts'
import { contextOf } from '../kernel/context-of.ts'
import type { Event, RunEnd, RunStart } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { Execution } from '../kernel/execution.ts'
import type { Append, AppendOutcome } from '../kernel/journal.ts'
import { Committer } from '../kernel/journal.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { Recorded } from '../kernel/recorded.ts'
import type { Store } from '../store/store.ts'
import type { Difference } from './compare.ts'
import { canonicalEvents, differencesBetween, keyOf } from './compare.ts'
import { leavesOf } from './replay-leaves.ts'
import type { Reading } from './replay-ports.ts'
import { replayPorts } from './replay-ports.ts'
import type { ReplayWorld } from './replay-world.ts'
import { replayWorld } from './replay-world.ts'
import { cancellation, endOf, endOfError } from './run-end.ts'
import { factsOf } from './run-facts.ts'

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
  facts: number
  differences: Difference[]
  /** Facts of the replay that the run was cut short before. */
  beyond: number
}

export interface ReplaySite {
  store: Store
  ports: Omit<Ports, 'publish'>
}

export async function replayRun(site: ReplaySite, run_id: string): Promise<ReplayReport> {
  const stored = await site.store.events(run_id)
  const replayed = await rehearse(site, stored)
  const before = canonicalEvents(stored)
  const all = differencesBetween(before, canonicalEvents(replayed))
  const differences = all.filter((difference) => !isBeyond(stored, difference))
  return {
    run_id,
    same: differences.length === 0,
    facts: before.length,
    differences,
    beyond: all.length - differences.length,
  }
}

/** The journal that executing the run again gives. */
async function rehearse(site: ReplaySite, stored: readonly Event[]): Promise<Event[]> {
  const facts = factsOf(stored)
  const pattern = patternOf(site, facts.start)
  const leaves = leavesOf(stored)
  const world = replayWorld(stored[0]?.at ?? 0)
  const reading = { under_way: 0 }
  const ports = replayPorts({ ...site, world, reading }, stored)
  const { project, model, input } = facts.start
  const run = { id: stored[0]?.run_id ?? '', project, limits: facts.limits, model }
  const written: Event[] = []
  const committer = new Committer({ append: (batch) => keep(batch, written) }, world, () => {})
  const journal = committer.open({ run_id: run.id, project, epoch: 1, head: stored.length })
  const recorded = new Recorded(leaves.seeds, pattern.renamed)
  // A session asks this just before it sets the timer for its time limit: else two of the same length look alike.
  recorded.workedSince = (key) => {
    world.timing(key)
    return 0
  }
  const budget = new Budget({ ...run.limits, calls: null, tokens: null, usd: null, concurrency: 1_000_000 })
  const x = new Execution({ run, ports, journal, committer, recorded, budget })
  // No time passes here: that a person was asked when a time limit was over must not keep it from being over.
  x.waitedUnder = () => 0
  let end: RunEnd | undefined
  void (async () => endOf(pattern.name, await pattern.execute(contextOf(x, '', undefined, x.signal), input as never)))()
    .catch((thrown: unknown) => endOfError(x, thrown))
    .then((reached) => {
      end = reached
    })
  const activity = () => [x.claimed.size, journal.head, reading.under_way, end?.status].join()
  await stillness(activity, reading)
  for (const event of stored) {
    if (end || !fromOutside(event, { x, world, asked: written })) continue
    await stillness(activity, reading)
  }
  end ??= facts.end?.error?.code === 'quarantined' ? facts.end : undefined
  if (end) journal.append('run:end', end)
  await journal.committed()
  return [...stored.slice(0, 1), ...leaves.seeds.filter((seed) => leaves.used(seed, x.claimed)), ...written]
}

function patternOf({ ports }: ReplaySite, { pattern: name }: RunStart): Pattern {
  const pattern = ports.patterns.get(name)
  if (pattern) return pattern
  const error = unknownName('unknown_pattern', 'pattern', name, [...ports.patterns.keys()])
  throw new TroupeError('unknown_pattern', error.message, {
    alternatives: error.alternatives,
    hint: 'a run of a pattern of your own is replayed by the program that defines it: troupe.replay(run_id)',
  })
}

function keep(batch: readonly Append[], written: Event[]): AppendOutcome[] {
  for (const { events } of batch) written.push(...events)
  return batch.map(() => ({ ok: true }))
}

/** Turns of the event loop without anything happening after which nothing will happen any more. */
const STILL_TURNS = 20

async function stillness(activity: () => string, reading: Reading): Promise<void> {
  let last = activity()
  for (let still = 0; still < STILL_TURNS; still++) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const now = activity()
    if (now !== last || reading.under_way > 0) still = 0
    last = now
  }
}

interface Rehearsal {
  x: Execution
  world: ReplayWorld
  /** What has been written so far. */
  asked: readonly Event[]
}

/** Lets what came from outside happen again, in the order of the journal: an answer, a time limit, a cancellation. */
function fromOutside(event: Event, { x, world, asked }: Rehearsal): boolean {
  if (isEvent(event, 'gate:answer')) {
    const { key, answer, by } = event.data
    const gate = asked.find((question) => isEvent(question, 'gate:open') && question.data.key === key)
    if (isEvent(gate, 'gate:open')) void x.answer(gate.data, answer, by)
    return gate !== undefined
  }
  if (isEvent(event, 'session:end') && event.data.error?.code === 'timeout') {
    // Sessions below the one whose time was over end with the same error.
    if (event.data.error.step === event.data.key) world.expire(event.data.key)
    return true
  }
  if (isEvent(event, 'run:cancel')) {
    x.journal.append('run:cancel', event.data)
    x.stop(cancellation(event.data.reason))
    return true
  }
  const error = isEvent(event, 'run:end') ? event.data.error : null
  if (error?.code !== 'limit_reached' || error.alternatives[0] !== 'wall_ms') return false
  x.stop(fromRecord(error))
  return true
}

const CUT_SHORT = new Set(['budget', 'timeout', 'cancelled'])

/** Told only by the replay, and below something that had no end or was cut short. */
function isBeyond(stored: readonly Event[], { key, seq }: Difference): boolean {
  if (seq[0] !== null) return false
  const end = stored.findLast((event) => isEvent(event, 'run:end'))
  if (!end || (isEvent(end, 'run:end') && end.data.stop_reason === 'cancelled')) return true
  return stored.some(
    (event) =>
      isEvent(event, 'session:end') &&
      CUT_SHORT.has(event.data.stop_reason) &&
      keyOf(event) !== key &&
      key.startsWith(`${keyOf(event)}/`),
  )
}
