import { TroupeError } from '../errors.ts'
import type { Event, ForkChanges } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Roster } from '../kernel/roster.ts'
import type { World } from '../kernel/world.ts'
import type { Store } from '../store/store.ts'
import { applyForkChanges } from './fork-changes.ts'
import { forkIdMap, rehashRequests, renameEvents } from './fork-ids.ts'
import { stepKey } from './journal-diff.ts'

/*
 * A fork is a new run whose journal is that of an old one up to an event.
 * 1. What had ended before the cut is kept: nobody is asked and nothing is done again.
 * 2. What had begun and not ended: actions keep the outcome they had later, models are asked again, questions are open.
 * 3. The old run is not touched.
 */

export interface ForkRequest {
  /** The last event that is kept. */
  at: number
  changes: ForkChanges
}

export interface ForkDeps {
  store: Store
  world: World
  roster: Roster
  patterns: ReadonlyMap<string, Pattern>
}

/** Writes the new run down; whoever executes it goes on from the cut. */
export async function forkRun(site: ForkDeps, run_id: string, request: ForkRequest): Promise<string> {
  const { store, world, roster, patterns } = site
  const events = await store.events(run_id)
  checkCut(events, run_id, request.at)
  const kept = events.slice(0, request.at).filter((event) => isKept(event, events, request.at))
  const changed = applyForkChanges(kept, request.changes, { roster, patterns })
  const outcomes = laterOutcomes(changed, events.slice(request.at))
  const fork = `r_${world.randomHex(6)}`
  const ids = forkIdMap(events, request.at, fork)
  const inherited = await rehashRequests(renameEvents([...changed, ...outcomes], ids, world.now()), store)
  const [start, ...rest] = inherited
  if (!isEvent(start, 'run:start')) throw new TroupeError('store_corrupt', 'the journal does not begin with run:start')
  const before = start.data.forked_from?.changes.agents
  const agents = { ...before, ...request.changes.agents }
  const changes = { ...request.changes, ...(Object.keys(agents).length > 0 ? { agents } : undefined) }
  const forked_from = { run_id, seq: request.at, inherited: inherited.length, changes }
  await store.createRun({ ...start, data: { ...start.data, forked_from } })
  await writeForkEvents(site, fork, rest)
  return fork
}

/** The bookkeeping of the old run's attempts is its own, and so is a call that was in flight. */
function isKept(event: Event, events: readonly Event[], at: number): boolean {
  if (isEvent(event, 'run:attempt') || isEvent(event, 'run:park') || isEvent(event, 'run:interrupt')) return false
  if (!isEvent(event, 'model:begin')) return true
  const { key, attempt } = event.data
  return events
    .slice(event.seq, at)
    .some(
      (later) =>
        (isEvent(later, 'model:end') || isEvent(later, 'model:error') || isEvent(later, 'model:lost')) &&
        later.data.key === key &&
        later.data.attempt === attempt,
    )
}

/** How actions that had begun at the cut ended after it. */
function laterOutcomes(kept: readonly Event[], later: readonly Event[]): Event[] {
  const ended = new Set(kept.filter(isOutcome).map(stepKey))
  const begun = kept.filter(
    (event) => (isEvent(event, 'tool:pre') || isEvent(event, 'step:begin')) && event.data.kind === 'act',
  )
  return begun
    .filter((event) => !ended.has(stepKey(event)))
    .flatMap((event) => later.find((end) => isOutcome(end) && stepKey(end) === stepKey(event)) ?? [])
}

function isOutcome(event: Event): boolean {
  return ['tool:post', 'tool:error', 'step:end', 'step:error'].includes(event.type)
}

function checkCut(events: readonly Event[], run_id: string, at: number): void {
  if (!Number.isInteger(at) || at < 1 || at > events.length) {
    throw new TroupeError('invalid_input', `${run_id} has no event ${at}; it has 1 to ${events.length}`, {
      hint: `troupe show ${run_id} --events lists them`,
    })
  }
  let ended: Event | undefined
  for (const event of events.slice(0, at)) {
    if (isEvent(event, 'run:end') || isEvent(event, 'run:cancel')) ended ??= event
    if (isEvent(event, 'run:reopen')) ended = undefined
  }
  if (!ended) return
  const how = isEvent(ended, 'run:end') ? 'had ended' : 'had been cancelled'
  throw new TroupeError(
    'invalid_input',
    `the run ${how} at event ${ended.seq}: nothing is left to go on with at ${at}`,
    {
      hint: `cut before it: --at ${ended.seq - 1}`,
    },
  )
}

const WRITE_LEASE_MS = 30_000

async function writeForkEvents({ store, world }: ForkDeps, run_id: string, events: readonly Event[]): Promise<void> {
  const [first] = events
  if (!first) return
  const lease = await store.lease(run_id, {
    owner: 'fork',
    now: world.now(),
    ttl_ms: WRITE_LEASE_MS,
    isDead: () => true,
  })
  const { project, epoch } = lease
  const [outcome] = await store.append([{ run_id, project, epoch, events, sync: 'full' }])
  await store.release(lease)
  if (outcome && !outcome.ok) throw outcome.error
}
