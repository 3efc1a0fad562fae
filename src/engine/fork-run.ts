import { TroupeError } from '../errors.ts'
import type { RunHost } from '../judgement/needs/run-needs.ts'
import { requireNeeds } from '../judgement/needs/run-needs.ts'
import type { Event, EventOf, ForkChanges } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { withoutCut } from '../kernel/journal/cut.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Roster } from '../kernel/roster.ts'
import type { World } from '../kernel/world.ts'
import type { Store } from '../store/store.ts'
import { applyForkChanges } from './fork-changes.ts'
import { forkIdMap, rehashRequests, renameEvents } from './fork-ids.ts'
import { stepKey } from './journal-diff.ts'
import { needsReportFrom } from './needs-report.ts'
import { requireComplete, requireRunStart } from './run-history.ts'

/*
 * A fork is a new run that inherits the journal of another run up to an event (the cut).
 * 1. Steps that ended before the cut keep their results: no model request and no tool call is repeated.
 * 2. Of steps in progress at the cut, actions keep their later outcome, model requests are repeated, gates are open.
 * 3. The original run does not change.
 */

export interface ForkRequest {
  /** The seq of the last event to keep. */
  cut: number
  changes: ForkChanges
}

export interface ForkDeps {
  store: Store
  world: World
  roster: Roster
  patterns: ReadonlyMap<string, Pattern>
  host: RunHost
}

/** Writes the journal of the fork and returns its run id. Executing the run continues from the cut. */
export async function forkRun(deps: ForkDeps, run_id: string, request: ForkRequest): Promise<string> {
  const { store, world, roster, patterns } = deps
  const { head = 0 } = (await store.run(run_id)) ?? {}
  const events = await store.events(run_id, { verify: true })
  requireComplete(events.slice(0, head), { run_id, head })
  const begun = requireRunStart(events)
  requireNeeds(run_id, needsReportFrom(events, deps.host.provided))
  checkCut(events, run_id, request.cut)
  const kept = events.slice(0, request.cut).filter((event) => isKept(event, events, request.cut))
  await patterns.get(begun.pattern)?.complete?.()
  const changed = applyForkChanges(kept, request.changes, { roster, patterns })
  const outcomes = laterOutcomes(changed, events.slice(request.cut))
  const fork = `r_${world.randomHex(6)}`
  const ids = forkIdMap(events, request.cut, fork)
  const inherited = await rehashRequests(renameEvents([...changed, ...outcomes], ids, world.now()), store)
  const [start, ...rest] = inherited
  const { needs: _needs, ...data } = requireRunStart(inherited)
  const needs = deps.host.needsFor(data.model)
  const before = data.forked_from?.changes.agents
  const agents = { ...before, ...request.changes.agents }
  const changes = { ...request.changes, ...(Object.keys(agents).length > 0 ? { agents } : undefined) }
  const forked_from = { run_id, seq: request.cut, inherited: inherited.length, changes }
  await writeFork(
    store,
    { ...start, data: { ...data, ...(needs && { needs }), forked_from } } as EventOf<'run:start'>,
    rest,
  )
  return fork
}

const ATTEMPT_EVENTS: ReadonlySet<string> = new Set(['run:attempt', 'run:park', 'run:interrupt', 'run:clock'])

/** Drops the bookkeeping of attempts and the model requests that were in flight at the cut. */
function isKept(event: Event, events: readonly Event[], cut: number): boolean {
  if (ATTEMPT_EVENTS.has(event.type)) return false
  if (!isEvent(event, 'model:begin')) return true
  const { key, attempt } = event.data
  return events
    .slice(event.seq, cut)
    .some(
      (later) =>
        (isEvent(later, 'model:end') || isEvent(later, 'model:error') || isEvent(later, 'model:lost')) &&
        later.data.key === key &&
        later.data.attempt === attempt,
    )
}

/** Outcomes after the cut of actions that began before it: an action must not be carried out twice. */
function laterOutcomes(kept: readonly Event[], later: readonly Event[]): Event[] {
  const current = withoutCut(kept)
  const ended = new Set(current.filter(isOutcome).map(stepKey))
  const actions = current.filter(
    (event) => (isEvent(event, 'tool:pre') || isEvent(event, 'step:begin')) && event.data.kind === 'act',
  )
  return actions
    .filter((event) => !ended.has(stepKey(event)))
    .flatMap((event) => later.find((end) => isOutcome(end) && stepKey(end) === stepKey(event)) ?? [])
}

function isOutcome(event: Event): boolean {
  return ['tool:post', 'tool:error', 'step:end', 'step:error'].includes(event.type)
}

function checkCut(events: readonly Event[], run_id: string, cut: number): void {
  if (!Number.isInteger(cut) || cut < 1 || cut > events.length) {
    throw new TroupeError('invalid_input', `run ${run_id} has no event ${cut}; its events are 1 to ${events.length}`, {
      hint: `list them with troupe show ${run_id} --events`,
    })
  }
  let ended: Event | undefined
  let retry: Event | undefined
  for (const event of events.slice(0, cut)) {
    if (isEvent(event, 'run:reopen')) retry = event
    if (isEvent(event, 'run:cut')) retry = undefined
    if (isEvent(event, 'run:end') || isEvent(event, 'run:cancel')) ended ??= event
    if (isEvent(event, 'run:reopen')) ended = undefined
  }
  const ownCut = retry && events.find((event) => isEvent(event, 'run:cut') && event.seq > cut)
  const isSameRetry = ownCut && !events.some(({ type, seq }) => type === 'run:reopen' && seq > cut && seq < ownCut.seq)
  if (!ended && ownCut && isSameRetry) {
    throw new TroupeError(
      'invalid_input',
      `cannot fork at event ${cut}: what the resume at event ${retry?.seq} retries is cut at event ${ownCut.seq}`,
      { hint: `fork after it: --at ${ownCut.seq}` },
    )
  }
  if (!ended) return
  const how = isEvent(ended, 'run:end') ? 'ended' : 'was cancelled'
  throw new TroupeError('invalid_input', `cannot fork at event ${cut}: the run ${how} at event ${ended.seq}`, {
    hint: `fork before that event: --at ${ended.seq - 1}`,
  })
}

const WRITE_LEASE_MS = 30_000

/** Leased from its creation on: a worker that claimed the fork without its events would repeat their actions. */
async function writeFork(store: Store, start: EventOf<'run:start'>, events: readonly Event[]): Promise<void> {
  if (events.length === 0) return store.createRun(start)
  const lease = await store.createRun(start, { owner: 'fork', ttl_ms: WRITE_LEASE_MS })
  const { run_id, project, epoch } = lease
  const [outcome] = await store.append([{ run_id, project, epoch, events, sync: 'full', release: true }])
  if (outcome && !outcome.ok) throw outcome.error
}
