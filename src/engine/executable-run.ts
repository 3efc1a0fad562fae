import { TroupeError, toTroupeError } from '../errors.ts'
import { requireNeeds } from '../judgement/needs/run-needs.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, RunStart } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { requirePattern } from '../kernel/run-input.ts'
import type { RunRow, Store } from '../store/store.ts'
import { withFallbackAgents, withForkChanges } from './create-roster.ts'
import type { EnginePorts } from './engine-ports.ts'
import { needsReportFrom, readNeedsEvents, rolesOfOwnModel } from './needs-report.ts'
import { assertSameWorkspace, requireRunStart } from './run-history.ts'

export interface ExecutableRun {
  ports: EnginePorts
  pattern: Pattern
}

/**
 * The parts that execute a run. Throws if this process cannot execute it: a missing part that the run needs, an unknown pattern,
 * another workspace, another journal format, an incomplete fork. `head` is the seq of the last event.
 */
export function requireExecutable(events: readonly Event[], head: number, ports: EnginePorts): ExecutableRun {
  const start = requireRunStart(events)
  checkForkComplete(start, head)
  assertSameWorkspace(start.workspace, ports.workspace)
  requireNeeds(events[0]?.run_id ?? '', needsReportFrom(events, ports.host.provided))
  const pattern = requirePattern(ports.patterns, start.pattern)
  return { ports: withRunModel(withForkedAgents(withRecordedAgents(ports, events), start), events, start), pattern }
}

function withForkedAgents(ports: EnginePorts, { forked_from }: RunStart): EnginePorts {
  return { ...ports, roster: withForkChanges(ports.roster, forked_from?.changes) }
}

/** A run keeps its own model: agents of the roles that stood for it use it in every process, also without `--model`. */
function withRunModel(ports: EnginePorts, events: readonly Event[], { model }: RunStart): EnginePorts {
  const { models, host } = ports
  const isOther = (role: string) => host.provided.models?.find(({ name }) => name === role)?.hash !== model
  const roles = host.provided.models ? rolesOfOwnModel(events).filter(isOther) : []
  if (model === undefined || roles.length === 0 || !models.withRoles) return ports
  return { ...ports, models: models.withRoles(Object.fromEntries(roles.map((role) => [role, model]))) }
}

/**
 * An agent file that was added while the run was executed is not among its needs: without the file, its open sessions continue with the
 * agent that they recorded.
 */
function withRecordedAgents(ports: EnginePorts, events: readonly Event[]): EnginePorts {
  const recorded = new Map<string, Agent>()
  for (const event of events) {
    if (!isEvent(event, 'session:open')) continue
    const { agent } = event.data
    const isFromFile = agent.origin?.by === 'user' && agent.origin.path !== undefined
    if (isFromFile && !ports.roster.has(agent.name)) recorded.set(agent.name, agent)
  }
  return recorded.size === 0 ? ports : { ...ports, roster: withFallbackAgents(ports.roster, recorded) }
}

/** A run that this process may be unable to execute, but can cancel. */
export type CancellableRun = Omit<ExecutableRun, 'pattern'> & { pattern: Pattern | undefined }

/** Throws `problem`, the reason why the run cannot be executed, unless it is only that a part is missing here. */
export function requireCancellable(events: readonly Event[], ports: EnginePorts, problem: unknown): CancellableRun {
  if (!['needs_missing', 'unknown_pattern'].includes(toTroupeError(problem).code)) throw problem
  const start = requireRunStart(events)
  // Without its model or performer a session cannot be replayed up to the cancellation: it would end as failed, with no usage.
  const { missing } = needsReportFrom(events, ports.host.provided)
  const isReplayable = !missing.some(({ kind }) => kind === 'models' || kind === 'performers')
  return {
    ports: withForkedAgents(ports, start),
    pattern: isReplayable ? ports.patterns.get(start.pattern) : undefined,
  }
}

export async function hasCancelCommand(store: Store, run_id: string): Promise<boolean> {
  return (await store.commands(run_id, 0)).some(({ body }) => body.kind === 'cancel')
}

/** Throws as `requireExecutable` does, before the run is leased: a process that cannot execute it changes nothing. */
export async function checkExecutable(store: Store, ports: EnginePorts, { run_id, head }: RunRow): Promise<void> {
  const check = async () => requireExecutable(await readNeedsEvents(store, run_id, ports.host.provided), head, ports)
  try {
    await check()
  } catch (thrown) {
    if (toTroupeError(thrown).code !== 'needs_missing' || !ports.roster.refresh) throw thrown
    // The file of a missing agent may be there by now: a worker runs for weeks.
    await ports.roster.refresh()
    await check()
  }
}

/** A fork without all the events that it inherits would repeat the actions whose outcomes it lacks. */
function checkForkComplete({ forked_from }: RunStart, head: number): void {
  if (!forked_from || head >= forked_from.inherited) return
  const { run_id, seq, inherited } = forked_from
  throw new TroupeError(
    'store_corrupt',
    `the fork of run ${run_id} has ${head} of the ${inherited} events it inherits`,
    {
      hint: `the process that forked it was killed; fork again: troupe fork ${run_id} --at ${seq}`,
    },
  )
}
