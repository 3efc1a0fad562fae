import { TroupeError, toTroupeError, unknownNameError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import { Execution } from '../kernel/journal/execution.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { Committer, Journal } from '../kernel/journal/journal.ts'
import { JournalIndex } from '../kernel/journal/journal-index.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { Budget, limitError } from '../kernel/session/budget.ts'
import { settleLostModelCalls } from '../kernel/session/model-request.ts'
import { createContext, resumeBackgroundSessions } from '../kernel/session/pattern-context.ts'
import type { Command, GateRow, Lease, Store } from '../store/store.ts'
import type { ReopenOptions } from './engine.ts'
import { applyForkToPorts } from './fork-changes.ts'
import { cancelledError, runEndFromError, runEndFromResult } from './run-end.ts'
import { assertSameWorkspace, reopenRun, runHistoryFrom, undeliveredEvents } from './run-history.ts'

/*
 * One leased attempt at a run, from reading its journal to its end, its parking, or its interruption.
 * 1. Commands become events here, by the owner, each once: an answer, a cancellation or a steering the journal has is
 *    skipped.
 * 2. A run parks only past the last command it has seen; a newer one makes it run again instead.
 * 3. A run that broke off three times without getting anywhere, or eight times at all, is put aside with the reason.
 */

export interface RunAttemptDeps {
  store: Store
  ports: Ports
  committer: Committer
  owner: string
  lease: Lease
  reopen: ReopenOptions | undefined
  /** Told of committed events that nobody may have told observers of. */
  deliver(events: readonly Event[]): void
  /** Told of what does not stop the run and still should be known. */
  onWarning(error: TroupeError): void
}

/** How an attempt came to its end. `again` means that a command arrived while it was parking. */
export type RunAttemptOutcome = 'ended' | 'parked' | 'interrupted' | 'again'

const MAX_CRASHES_WITHOUT_PROGRESS = 3
/** Looks for commands in a row, about two seconds of them, that may fail before somebody is told. */
const FAILED_POLLS_BEFORE_WARNING = 8
/** A tool that kills the process makes its run get on a little each time: it is told that the outcome is unknown. */
const MAX_CRASHES = 8
/** How long a run is its owner's without word from it. */
export const LEASE_MS = 30_000

export class RunAttempt {
  readonly run_id: string
  readonly #deps: RunAttemptDeps
  #execution: Execution | undefined
  #seenCommand = 0
  #polling: Promise<void> = Promise.resolve()
  readonly #idle = Promise.withResolvers<'quiet'>()
  readonly #done = new AbortController()
  #pausing = false
  #failedPolls = 0

  constructor(site: RunAttemptDeps) {
    this.#deps = site
    this.run_id = site.lease.run_id
  }

  get seenCommand(): number {
    return this.#seenCommand
  }

  /** Stops without ending the run. */
  pause(): void {
    this.#pausing = true
    this.#execution?.pause()
  }

  markLeaseLost(): void {
    this.#execution?.abort(new TroupeError('lease_lost', `another process took over the run ${this.run_id}`))
  }

  /** Reads commands that arrived since the last look, one look at a time. */
  pollCommands(): Promise<void> {
    this.#polling = this.#polling.then(
      () => this.#readCommands(),
      () => this.#readCommands(),
    )
    this.#polling.then(
      () => {
        this.#failedPolls = 0
      },
      (thrown: unknown) => this.#onPollFailed(thrown),
    )
    return this.#polling.catch(() => {})
  }

  /** A store that cannot be read now may be in a moment; one that stays so keeps answers and cancellations away. */
  #onPollFailed(thrown: unknown): void {
    this.#failedPolls += 1
    if (this.#failedPolls !== FAILED_POLLS_BEFORE_WARNING) return
    const { message } = toTroupeError(thrown)
    this.#deps.onWarning(
      new TroupeError('store_failed', `commands of the run ${this.run_id} cannot be read: ${message}`),
    )
  }

  async run(): Promise<RunAttemptOutcome> {
    const { store, committer, lease, owner } = this.#deps
    const events = await store.events(this.run_id)
    const facts = runHistoryFrom(events)
    const ports = applyForkToPorts(this.#deps.ports, facts.start)
    this.#deps.deliver(undeliveredEvents(events))
    assertSameWorkspace(facts.start.workspace, ports.workspace)
    const pattern = ports.patterns.get(facts.start.pattern)
    if (!pattern)
      throw unknownNameError('unknown_pattern', {
        kind: 'pattern',
        name: facts.start.pattern,
        known: [...ports.patterns.keys()],
      })
    const journal = committer.open(lease)
    if (facts.end && !this.#deps.reopen) return 'ended'
    if (this.#deps.reopen) events.push(reopenRun(journal, facts, this.#deps.reopen))
    const recorded = new JournalIndex(events, pattern.renamedKeys)
    const { crashes, crashesWithoutProgress } = recorded
    if (crashesWithoutProgress >= MAX_CRASHES_WITHOUT_PROGRESS || crashes >= MAX_CRASHES)
      return this.#quarantine(journal, crashes)
    const { limits } = runHistoryFrom(events)
    const budget = new Budget(limits)
    for (const event of events) budget.recordEvent(event)
    const { project, model } = facts.start
    const run = { id: this.run_id, project, limits, model, permissions: facts.start.permissions }
    const execution = new Execution({ run, ports, journal, committer, recorded, budget })
    this.#execution = execution
    execution.onParkable = () => this.#idle.resolve('quiet')
    execution.ensureLease = () => this.#ensureLease()
    if (this.#pausing) execution.pause()
    journal.append('run:attempt', { epoch: lease.epoch, owner })
    settleLostModelCalls(execution)
    if (recorded.cancelled) execution.abort(cancelledError(recorded.cancelled.data.reason))
    await this.pollCommands()
    void this.#enforceWallClock(execution, recorded.activeMs)
    resumeBackgroundSessions(execution)
    try {
      return await this.#execute(execution, pattern, facts.start.input)
    } finally {
      this.#done.abort()
    }
  }

  async #execute(execution: Execution, pattern: Pattern, input: unknown): Promise<RunAttemptOutcome> {
    const context = createContext({ execution, path: '', caller: undefined, signal: execution.signal })
    const poisoned = new Promise<never>((_, reject) => {
      const check = () => {
        const error = toTroupeError(execution.signal.reason)
        if (isFatal(error)) reject(error)
      }
      if (execution.signal.aborted) check()
      else execution.signal.addEventListener('abort', check, { once: true })
    })
    const working = (async () =>
      runEndFromResult(pattern.name, await pattern.execute(context, input as never)))().catch((thrown: unknown) =>
      runEndFromError(execution, thrown),
    )
    working.catch(() => {})
    const outcome = await Promise.race([working, this.#idle.promise, poisoned])
    if (outcome === 'quiet') return this.#park(execution)
    await Promise.race([execution.finish(), poisoned])
    this.#done.abort()
    execution.journal.append('run:end', outcome)
    execution.journal.close()
    await execution.journal.commit('full')
    return 'ended'
  }

  async #park(execution: Execution): Promise<RunAttemptOutcome> {
    // From here on commands are for the next attempt: one obeyed after the parking would count as seen and wake nobody.
    this.#done.abort()
    if (execution.isPaused && execution.waitingGates.length === 0) {
      execution.journal.append('run:interrupt', { reason: 'the process was asked to stop' })
      await execution.journal.commit('full')
      return 'interrupted'
    }
    execution.journal.append('run:park', { gates: execution.waitingGates })
    try {
      await execution.journal.commit('full', this.#seenCommand)
      return 'parked'
    } catch (thrown) {
      if (toTroupeError(thrown).code !== 'run_busy') throw thrown
      return 'again'
    }
  }

  async #quarantine(journal: Journal, crashes: number): Promise<RunAttemptOutcome> {
    const error = new TroupeError('quarantined', `the run broke off ${crashes} times in a row`, {
      hint: 'see its last steps with troupe show; when the cause is gone: troupe resume RUN --force',
    })
    journal.append('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: error.toJSON() })
    await journal.commit('full')
    return 'ended'
  }

  async #readCommands(): Promise<void> {
    const x = this.#execution
    if (!x || this.#done.signal.aborted) return
    for (const command of await this.#deps.store.commands(this.run_id, this.#seenCommand)) {
      const gate = command.body.kind === 'answer' ? await this.#deps.store.gate(command.body.gate_id) : undefined
      if (this.#done.signal.aborted) return
      await this.#applyCommand(x, command, gate)
      this.#seenCommand = command.id
    }
  }

  async #applyCommand(execution: Execution, { id, body }: Command, gate: GateRow | undefined): Promise<void> {
    if (body.kind === 'answer') {
      if (gate) await execution.answerGate(gate, body.answer, body.by)
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
    execution.journalIndex.add(execution.journal.append('run:cancel', { reason: body.reason }))
    await execution.journal.commit('full')
    execution.abort(cancelledError(body.reason))
  }

  #ensureLease(): Promise<void> | undefined {
    const { lease, ports } = this.#deps
    return ports.world.now() < lease.lease_until ? undefined : this.#renewLease()
  }

  async #renewLease(): Promise<void> {
    const { lease, ports, store } = this.#deps
    const until = ports.world.now() + LEASE_MS
    if ((await store.renew([lease], until)).length > 0) {
      this.markLeaseLost()
      throw this.#execution?.signal.reason
    }
    lease.lease_until = until
    // The answer itself may have come late.
    await this.#ensureLease()
  }

  async #enforceWallClock(execution: Execution, workedMs: number): Promise<void> {
    const { wall_ms } = execution.run.limits
    if (wall_ms === null) return
    try {
      await execution.ports.world.sleep(Math.max(0, wall_ms - workedMs), this.#done.signal)
      execution.abort(limitError('wall_ms', wall_ms, wall_ms))
    } catch {
      // The attempt ended first.
    }
  }
}
