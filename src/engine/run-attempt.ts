import { TroupeError, toTroupeError } from '../errors.ts'
import type { Event, EventDataOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { Execution } from '../kernel/journal/execution.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { Journal } from '../kernel/journal/journal.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import type { Pattern } from '../kernel/pattern.ts'
import { Budget, limitError } from '../kernel/session/budget.ts'
import { settleLostModelCalls } from '../kernel/session/lost-model-calls.ts'
import { resumeBackgroundSessions } from '../kernel/session/pattern-context.ts'
import type { StartTurns } from '../kernel/session/turn-scope.ts'
import type { Command, GateRow, Store } from '../store/store.ts'
import type { EndedRun, ReopenOptions } from './engine.ts'
import type { EnginePorts } from './engine-ports.ts'
import type { CancellableRun } from './executable-run.ts'
import { hasCancelCommand, requireCancellable, requireExecutable } from './executable-run.ts'
import type { Committer } from './group-commit.ts'
import type { HeldLease } from './lease-heartbeat.ts'
import { LEASE_MS } from './lease-heartbeat.ts'
import { firstAttemptNeeds, modelChanges } from './needs-report.ts'
import { lostRequestTimes, markFolder } from './request-marks.ts'
import { cancelledError, executePattern } from './run-end.ts'
import { isIncomplete, requireComplete, runHistoryFrom, runMetadataFrom, undeliveredEvents } from './run-history.ts'

/*
 * One attempt to execute a run under a lease, from reading its journal until the run ends, parks or is interrupted.
 * 1. Only the owner turns commands into events, each once: answers, cancellations and steering that the journal already
 *    has are skipped.
 * 2. A run parks only if no command is newer than the last one it has read; otherwise it is executed again.
 * 3. A run that crashed three times in a row without progress, or fifty times in a row at all, is quarantined.
 */

export interface RunAttemptDeps {
  store: Store
  ports: EnginePorts
  startTurns: StartTurns
  committer: Committer
  owner: string
  lease: HeldLease
  reopen: ReopenOptions | undefined
  /** The `run:start` of a run that was created for this attempt: there are no other events and no commands to read. */
  created?: Event
  /** Delivers committed events that listeners may have missed. */
  deliver(events: readonly Event[]): void
}

/** `again`: a command arrived while the run was parking. */
export type RunAttemptOutcome = 'ended' | 'parked' | 'interrupted' | 'again'

interface StartContext {
  ports: EnginePorts
  journal: Journal
  recorded: JournalIndex
}

const MAX_CRASHES_WITHOUT_PROGRESS = 3
/** Bounds a crash loop with progress: a tool that kills the process gets `outcome_unknown` and the run moves on. */
const MAX_CRASHES = 50
export class RunAttempt {
  readonly run_id: string
  readonly #deps: RunAttemptDeps
  #execution: Execution | undefined
  #seenCommand = 0
  #applying: Promise<void> = Promise.resolve()
  readonly #parkable = Promise.withResolvers<'parkable'>()
  /** True once the attempt is over or parking: commands are left to the next attempt. */
  #isDone = false
  #cancelWallClock: (() => void) | undefined
  #pausing = false
  #hasReleased = false
  /** Set when the pattern has ended the run in this attempt. */
  end: EndedRun | undefined

  constructor(deps: RunAttemptDeps) {
    this.#deps = deps
    this.run_id = deps.lease.run_id
  }

  /** True if the lease was given back with the last events. */
  get hasReleased(): boolean {
    return this.#hasReleased
  }

  get seenCommand(): number {
    return this.#seenCommand
  }

  /** Interrupts the run so that it can be resumed. */
  pause(): void {
    this.#pausing = true
    this.#execution?.pause()
  }

  markLeaseLost(): void {
    const hint = `follow it with: troupe watch ${this.run_id}`
    this.#execution?.abort(new TroupeError('lease_lost', `another process took over run ${this.run_id}`, { hint }))
  }

  /**
   * Applies commands in order; those that it has seen are skipped. Concurrent calls are serialised. Before the execution
   * has started they are ignored, because its start reads them.
   */
  applyCommands(commands: readonly Command[]): Promise<void> {
    const execution = this.#execution
    if (!execution) return Promise.resolve()
    const apply = () => this.#applyNew(execution, commands)
    this.#applying = this.#applying.then(apply, apply)
    return this.#applying
  }

  async run(): Promise<RunAttemptOutcome> {
    const { store, committer, lease, reopen, created } = this.#deps
    const events = created ? [created] : await store.events(this.run_id, { verify: true })
    if (!created) requireComplete(events, lease)
    const { ports, pattern } = await this.#executableRun(events)
    await pattern?.complete?.()
    const history = runHistoryFrom(events)
    // Privilege escalation: in the process that started the run, its agents could not write these files either.
    ports.host.protect?.(history.start.protected_paths ?? [])
    this.#deps.deliver(undeliveredEvents(events))
    const journal = committer.open(lease)
    if (history.end && !reopen) return 'ended'
    if (!pattern) return this.#endCancelled(journal, events)
    if (reopen) {
      const scope = { store, journal, pattern }
      const { reopenRun } = await import('./reopen-run.ts')
      events.push(await reopenRun(scope, { events, history }, reopen))
    }
    const recorded = new JournalIndex(events, pattern.renamedKeys)
    const { crashes, crashesWithoutProgress } = recorded
    if (crashesWithoutProgress >= MAX_CRASHES_WITHOUT_PROGRESS || crashes >= MAX_CRASHES)
      return this.#quarantine(journal, crashes)
    const execution = this.#start(events, { ports, journal, recorded })
    if (!created) await this.#applyStoredCommands(execution)
    this.#enforceWallClock(execution, recorded.activeMs)
    resumeBackgroundSessions({ execution, startTurns: this.#deps.startTurns })
    try {
      return await this.#execute(execution, pattern, { input: history.start.input, created_at: events[0]?.at ?? 0 })
    } finally {
      this.#markDone()
    }
  }

  /**
   * The parts that execute the run. A process that lacks some of them may still cancel it, since a cancelled execution performs
   * nothing; without the pattern, or a model, nothing is executed.
   */
  async #executableRun(events: readonly Event[]): Promise<CancellableRun> {
    const { ports, created } = this.#deps
    try {
      return requireExecutable(events, events.length, ports)
    } catch (thrown) {
      if (created || !(await hasCancelCommand(this.#deps.store, this.run_id))) throw thrown
      return requireCancellable(events, ports, thrown)
    }
  }

  /** Ends a cancelled run that this process cannot replay. */
  async #endCancelled(journal: Journal, events: readonly Event[]): Promise<RunAttemptOutcome> {
    const commands = await this.#deps.store.commands(this.run_id, 0)
    const [cancel = { reason: '' }] = commands.flatMap(({ body }) => (body.kind === 'cancel' ? cancelData(body) : []))
    if (!events.some((event) => isEvent(event, 'run:cancel'))) journal.append('run:cancel', cancel)
    const error = cancelledError(cancel.reason).toJSON()
    journal.append('run:end', { status: 'cancelled', stop_reason: 'cancelled', output: null, error })
    await this.#commitLast(journal)
    return 'ended'
  }

  #start(events: readonly Event[], { ports, journal, recorded }: StartContext): Execution {
    const { committer, lease, owner } = this.#deps
    const { start, limits } = runHistoryFrom(events)
    const budget = new Budget(limits)
    for (const event of events) budget.recordEvent(event)
    const { project, model, permissions } = start
    const run = { id: this.run_id, project, limits, model, permissions, metadata: runMetadataFrom(start) }
    const execution = new Execution({ run, ports, journal, scheduler: committer, recorded, budget })
    this.#execution = execution
    execution.onParkable = () => this.#parkable.resolve('parkable')
    execution.ensureLease = () => this.#ensureLease()
    if (this.#pausing) execution.pause()
    const attempt = {
      epoch: lease.epoch,
      owner,
      ...firstAttemptNeeds(events, ports.host),
      ...modelChanges(events, recorded, ports.host),
    }
    // The index learns that the attempt before has ended: its working time counts, also if it crashed.
    recorded.add(journal.append('run:attempt', attempt))
    settleLostModelCalls(
      execution,
      lostRequestTimes(events, { lease, world: ports.world, folder: markFolder(this.#deps.store) }),
    )
    if (recorded.cancelled) execution.abort(cancelledError(recorded.cancelled.data.reason))
    return execution
  }

  async #execute(
    execution: Execution,
    pattern: Pattern,
    { input, created_at }: { input: unknown; created_at: number },
  ): Promise<RunAttemptOutcome> {
    const fatal = fatalAbort(execution.signal)
    const end = executePattern({ execution, startTurns: this.#deps.startTurns }, pattern, input)
    end.catch(() => {})
    const outcome = await Promise.race([end, this.#parkable.promise, fatal])
    if (outcome === 'parkable') return this.#park(execution)
    await Promise.race([execution.finish(), fatal])
    this.#markDone()
    if (outcome.status === 'completed') execution.cutUnreached({ isIncomplete: isIncomplete(outcome) })
    const event = execution.journal.append('run:end', outcome)
    execution.journal.close()
    await this.#commitLast(execution.journal)
    if (isEvent(event, 'run:end')) this.end = { end: event, created_at, usage: execution.budget.spent }
    return 'ended'
  }

  async #park(execution: Execution): Promise<RunAttemptOutcome> {
    execution.abandon()
    // Apply no more commands: one applied after parking would count as seen and would not wake the run.
    this.#markDone()
    if (execution.isPaused && execution.waitingGates.length === 0) {
      execution.journal.append('run:interrupt', { reason: 'the process was asked to stop' })
      execution.journal.close()
      await this.#commitLast(execution.journal)
      return 'interrupted'
    }
    execution.journal.append('run:park', { gates: execution.waitingGates })
    // With the lease given back, the epoch is still the current one: the store would accept what is appended later.
    execution.journal.close()
    try {
      await this.#commitLast(execution.journal, { seen_command: this.#seenCommand })
      return 'parked'
    } catch (thrown) {
      if (toTroupeError(thrown).code !== 'run_busy') throw thrown
      return 'again'
    }
  }

  async #quarantine(journal: Journal, crashes: number): Promise<RunAttemptOutcome> {
    const error = new TroupeError('quarantined', `run ${this.run_id} crashed ${crashes} times in a row`, {
      hint: `see its last steps with troupe show ${this.run_id}; when the cause is fixed: troupe resume ${this.run_id} --force`,
    })
    journal.append('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: error.toJSON() })
    await this.#commitLast(journal)
    return 'ended'
  }

  /** Commits the last events of this owner and gives the lease back in the same transaction. */
  async #commitLast(journal: Journal, options?: { seen_command: number }): Promise<void> {
    await journal.commit('full', { ...options, release: true })
    this.#hasReleased = true
  }

  /** The first in line: a later command applied earlier would hide these. */
  #applyStoredCommands(execution: Execution): Promise<void> {
    const stored = this.#deps.store.commands(this.run_id, 0)
    this.#applying = stored.then((commands) => this.#applyNew(execution, commands))
    return this.#applying
  }

  async #applyNew(execution: Execution, commands: readonly Command[]): Promise<void> {
    for (const command of commands) {
      if (command.id <= this.#seenCommand) continue
      const gate = command.body.kind === 'answer' ? await this.#deps.store.gate(command.body.gate_id) : undefined
      if (this.#isDone) return
      await this.#applyCommand(execution, command, gate)
      this.#seenCommand = command.id
    }
  }

  async #applyCommand(execution: Execution, command: Command, gate: GateRow | undefined): Promise<void> {
    const { id, body } = command
    if (body.kind === 'answer') {
      const { answer, by } = body
      if (gate?.run_id === this.run_id) await execution.answerGate(gate, { answer, by })
      return
    }
    if (body.kind === 'steer') {
      if (id <= (execution.journalIndex.steeringCommands.at(-1)?.data.command ?? 0)) return
      execution.journalIndex.add(
        execution.journal.append('run:steer', { action: body.action, by: body.by, command: id }),
      )
      await execution.journal.commit('full')
      return
    }
    if (execution.journalIndex.cancelled) return
    execution.journalIndex.add(execution.journal.append('run:cancel', cancelData(body)))
    await execution.journal.commit('full')
    execution.abort(cancelledError(body.reason))
  }

  #ensureLease(): Promise<void> | undefined {
    const { lease, ports } = this.#deps
    return ports.world.now() < lease.expires_at ? undefined : this.#renewLease()
  }

  async #renewLease(): Promise<void> {
    const { lease, ports, store } = this.#deps
    const requested_at = ports.world.now()
    if ((await store.renew([lease], LEASE_MS)).length > 0) {
      this.markLeaseLost()
      throw this.#execution?.signal.reason
    }
    lease.expires_at = requested_at + LEASE_MS
    // The renewal itself may have taken longer than the lease.
    await this.#ensureLease()
  }

  #enforceWallClock(execution: Execution, workedMs: number): void {
    const { wall_ms } = execution.run.limits
    if (wall_ms === null || this.#isDone) return
    const remaining = Math.max(0, wall_ms - workedMs)
    const abort = () => execution.abort(limitError('wall_ms', wall_ms, wall_ms))
    this.#cancelWallClock = execution.ports.world.after(remaining, abort)
  }

  #markDone(): void {
    this.#isDone = true
    this.#cancelWallClock?.()
  }
}

function cancelData({ reason, by }: { reason: string; by: string }): EventDataOf<'run:cancel'> {
  return { reason, ...(by === 'user' ? undefined : { by }) }
}

/** Rejects when the execution is aborted with a fatal error, such as a lost lease: the run must stop without an end. */
function fatalAbort(signal: AbortSignal): Promise<never> {
  return new Promise<never>((_, reject) => {
    const check = () => {
      const error = toTroupeError(signal.reason)
      if (isFatal(error)) reject(error)
    }
    if (signal.aborted) check()
    else signal.addEventListener('abort', check, { once: true })
  })
}
