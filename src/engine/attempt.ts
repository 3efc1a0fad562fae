import { asTroupeError, TroupeError, unknownName } from '../errors.ts'
import { Budget, limitError } from '../kernel/budget.ts'
import { contextOf, reenterBackground } from '../kernel/context-of.ts'
import type { Event } from '../kernel/event.ts'
import { Execution } from '../kernel/execution.ts'
import { isFatal } from '../kernel/fatal.ts'
import type { Committer, Journal } from '../kernel/journal.ts'
import { loseOpenCalls } from '../kernel/model-call.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { Recorded } from '../kernel/recorded.ts'
import type { Command, GateRow, Lease, Store } from '../store/store.ts'
import type { Reopen } from './engine.ts'
import { changedPorts } from './fork-changes.ts'
import { cancellation, endOf, endOfError } from './run-end.ts'
import { factsOf, reopened, sameWorkspace, untold } from './run-facts.ts'

/*
 * One leased attempt at a run, from reading its journal to its end, its parking, or its interruption.
 * 1. Commands become events here, by the owner, each once: an answer, a cancellation or a steering the journal has is
 *    skipped.
 * 2. A run parks only past the last command it has seen; a newer one makes it run again instead.
 * 3. A run that broke off three times without getting anywhere, or eight times at all, is put aside with the reason.
 */

export interface AttemptSite {
  store: Store
  ports: Ports
  committer: Committer
  owner: string
  lease: Lease
  reopen: Reopen | undefined
  /** Told of committed events that nobody may have told observers of. */
  untold(events: readonly Event[]): void
  /** Told of what does not stop the run and still should be known. */
  trouble(error: TroupeError): void
}

/** How an attempt came to its end. `again` means that a command arrived while it was parking. */
export type AttemptEnd = 'ended' | 'parked' | 'interrupted' | 'again'

const FRUITLESS_CRASHES = 3
/** Looks for commands in a row, about two seconds of them, that may fail before somebody is told. */
const FAILED_LOOKS = 8
/** A tool that kills the process makes its run get on a little each time: it is told that the outcome is unknown. */
const MOST_CRASHES = 8
/** How long a run is its owner's without word from it. */
export const LEASE_MS = 30_000

export class Attempt {
  readonly run_id: string
  readonly #site: AttemptSite
  #x: Execution | undefined
  #seenCommand = 0
  #reading: Promise<void> = Promise.resolve()
  readonly #quiet = Promise.withResolvers<'quiet'>()
  readonly #done = new AbortController()
  #pausing = false
  #failedLooks = 0

  constructor(site: AttemptSite) {
    this.#site = site
    this.run_id = site.lease.run_id
  }

  get seenCommand(): number {
    return this.#seenCommand
  }

  /** Stops without ending the run. */
  pause(): void {
    this.#pausing = true
    this.#x?.pause()
  }

  loseLease(): void {
    this.#x?.stop(new TroupeError('lease_lost', `another process took over the run ${this.run_id}`))
  }

  /** Reads commands that arrived since the last look, one look at a time. */
  look(): Promise<void> {
    this.#reading = this.#reading.then(
      () => this.#readCommands(),
      () => this.#readCommands(),
    )
    this.#reading.then(
      () => {
        this.#failedLooks = 0
      },
      (thrown: unknown) => this.#lookFailed(thrown),
    )
    return this.#reading.catch(() => {})
  }

  /** A store that cannot be read now may be in a moment; one that stays so keeps answers and cancellations away. */
  #lookFailed(thrown: unknown): void {
    this.#failedLooks += 1
    if (this.#failedLooks !== FAILED_LOOKS) return
    const { message } = asTroupeError(thrown)
    this.#site.trouble(new TroupeError('store_failed', `commands of the run ${this.run_id} cannot be read: ${message}`))
  }

  async run(): Promise<AttemptEnd> {
    const { store, committer, lease, owner } = this.#site
    const events = await store.events(this.run_id)
    const facts = factsOf(events)
    const ports = changedPorts(this.#site.ports, facts.start)
    this.#site.untold(untold(events))
    sameWorkspace(facts.start.workspace, ports.workspace)
    const pattern = ports.patterns.get(facts.start.pattern)
    if (!pattern) throw unknownName('unknown_pattern', 'pattern', facts.start.pattern, [...ports.patterns.keys()])
    const journal = committer.open(lease)
    if (facts.end && !this.#site.reopen) return 'ended'
    if (this.#site.reopen) events.push(reopened(journal, facts, this.#site.reopen))
    const recorded = new Recorded(events, pattern.renamed)
    const { crashes, fruitlessCrashes } = recorded
    if (fruitlessCrashes >= FRUITLESS_CRASHES || crashes >= MOST_CRASHES) return this.#quarantine(journal, crashes)
    const { limits } = factsOf(events)
    const budget = new Budget(limits)
    for (const event of events) budget.restore(event)
    const { project, model } = facts.start
    const run = { id: this.run_id, project, limits, model, permissions: facts.start.permissions }
    const x = new Execution({ run, ports, journal, committer, recorded, budget })
    this.#x = x
    x.onQuiet = () => this.#quiet.resolve('quiet')
    x.holdsLease = () => this.#holdsLease()
    if (this.#pausing) x.pause()
    journal.append('run:attempt', { epoch: lease.epoch, owner })
    loseOpenCalls(x)
    if (recorded.cancelled) x.stop(cancellation(recorded.cancelled.data.reason))
    await this.look()
    void this.#watchWallClock(x, recorded.workedMs)
    reenterBackground(x)
    try {
      return await this.#execute(x, pattern, facts.start.input)
    } finally {
      this.#done.abort()
    }
  }

  async #execute(x: Execution, pattern: Pattern, input: unknown): Promise<AttemptEnd> {
    const context = contextOf(x, '', undefined, x.signal)
    const poisoned = new Promise<never>((_, reject) => {
      const check = () => {
        const error = asTroupeError(x.signal.reason)
        if (isFatal(error)) reject(error)
      }
      if (x.signal.aborted) check()
      else x.signal.addEventListener('abort', check, { once: true })
    })
    const working = (async () => endOf(pattern.name, await pattern.execute(context, input as never)))().catch(
      (thrown: unknown) => endOfError(x, thrown),
    )
    working.catch(() => {})
    const outcome = await Promise.race([working, this.#quiet.promise, poisoned])
    if (outcome === 'quiet') return this.#park(x)
    await Promise.race([x.finish(), poisoned])
    this.#done.abort()
    x.journal.append('run:end', outcome)
    x.journal.close()
    await x.journal.committed('full')
    return 'ended'
  }

  async #park(x: Execution): Promise<AttemptEnd> {
    // From here on commands are for the next attempt: one obeyed after the parking would count as seen and wake nobody.
    this.#done.abort()
    if (x.paused && x.waiting.length === 0) {
      x.journal.append('run:interrupt', { reason: 'the process was asked to stop' })
      await x.journal.committed('full')
      return 'interrupted'
    }
    x.journal.append('run:park', { gates: x.waiting })
    try {
      await x.journal.committed('full', this.#seenCommand)
      return 'parked'
    } catch (thrown) {
      if (asTroupeError(thrown).code !== 'run_busy') throw thrown
      return 'again'
    }
  }

  async #quarantine(journal: Journal, crashes: number): Promise<AttemptEnd> {
    const error = new TroupeError('quarantined', `the run broke off ${crashes} times in a row`, {
      hint: 'see its last steps with troupe show; when the cause is gone: troupe resume RUN --force',
    })
    journal.append('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: error.toJSON() })
    await journal.committed('full')
    return 'ended'
  }

  async #readCommands(): Promise<void> {
    const x = this.#x
    if (!x || this.#done.signal.aborted) return
    for (const command of await this.#site.store.commands(this.run_id, this.#seenCommand)) {
      const gate = command.body.kind === 'answer' ? await this.#site.store.gate(command.body.gate_id) : undefined
      if (this.#done.signal.aborted) return
      await this.#obey(x, command, gate)
      this.#seenCommand = command.id
    }
  }

  async #obey(x: Execution, { id, body }: Command, gate: GateRow | undefined): Promise<void> {
    if (body.kind === 'answer') {
      if (gate) await x.answer(gate, body.answer, body.by)
      return
    }
    if (body.kind === 'steer') {
      if (id <= (x.recorded.steers.at(-1)?.data.command ?? 0)) return
      x.recorded.add(x.journal.append('run:steer', { action: body.action, by: body.by, command: id }))
      await x.journal.committed('full')
      return
    }
    if (x.recorded.cancelled) return
    x.recorded.add(x.journal.append('run:cancel', { reason: body.reason }))
    await x.journal.committed('full')
    x.stop(cancellation(body.reason))
  }

  #holdsLease(): Promise<void> | undefined {
    const { lease, ports } = this.#site
    return ports.world.now() < lease.lease_until ? undefined : this.#renewLease()
  }

  async #renewLease(): Promise<void> {
    const { lease, ports, store } = this.#site
    const until = ports.world.now() + LEASE_MS
    if ((await store.renew([lease], until)).length > 0) {
      this.loseLease()
      throw this.#x?.signal.reason
    }
    lease.lease_until = until
    // The answer itself may have come late.
    await this.#holdsLease()
  }

  async #watchWallClock(x: Execution, workedMs: number): Promise<void> {
    const { wall_ms } = x.run.limits
    if (wall_ms === null) return
    try {
      await x.ports.world.sleep(Math.max(0, wall_ms - workedMs), this.#done.signal)
      x.stop(limitError('wall_ms', wall_ms, wall_ms))
    } catch {
      // The attempt ended first.
    }
  }
}
