import { TroupeError, toTroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { RequestProgress } from '../kernel/request-progress.ts'
import { Slots } from '../kernel/session/session-queue.ts'
import type { Command, RunRow } from '../store/store.ts'
import { claimableRuns, needsExecution, waitWhileLeased } from './claimable-runs.ts'
import { CommandReader } from './command-reader.ts'
import { frozenCopy } from './copy-json.ts'
import type { ClaimedRun, EndedRun, Engine, EngineItem, EngineParts, ReopenOptions, StartedRun } from './engine.ts'
import type { EnginePorts } from './engine-ports.ts'
import { checkExecutable, hasCancelCommand } from './executable-run.ts'
import { Committer } from './group-commit.ts'
import type { HeldLease } from './lease-heartbeat.ts'
import { holdLease, LEASE_MS, LeaseHeartbeat } from './lease-heartbeat.ts'
import { isOwnerDead, leaseOwnerId } from './lease-owner.ts'
import type { RequestMarkFile } from './request-marks.ts'
import { markFolder, openRequestMarks } from './request-marks.ts'
import { RunAttempt } from './run-attempt.ts'

/*
 * Executes runs in this process.
 * 1. At most `concurrency` runs execute at a time; the others wait in a first-in, first-out queue.
 * 2. Leases are renewed by a heartbeat while their runs execute; a lost lease stops its run here at once.
 * 3. Commands are read once for all runs, when the store has changed.
 */

interface ActiveRun {
  /** True if `execute` joined this run since commands were last read. */
  joined: boolean
  /** True if a command arrived before there was an attempt to apply it. */
  missedCommands: boolean
  attempt: RunAttempt | undefined
  lease: HeldLease | undefined
  done: Promise<EndedRun | undefined>
  /** Called when this process has got the lease. */
  onLeased: (() => void) | undefined
}

interface FirstAttempt {
  reopen?: ReopenOptions
  /** Set for a run that this engine has just created. */
  created?: { lease: HeldLease; start: Event }
}

export class EmbeddedEngine implements Engine {
  readonly #options: EngineParts
  readonly #ports: EnginePorts
  readonly #owner: string
  readonly #committer: Committer
  readonly #marks: RequestMarkFile
  readonly #listeners = new Set<(item: EngineItem) => void>()
  readonly #activeRuns = new Map<string, ActiveRun>()
  readonly #commands: CommandReader
  readonly #slots: Slots
  readonly #heartbeat: LeaseHeartbeat
  readonly #drain = new AbortController()

  constructor(options: EngineParts) {
    this.#options = options
    this.#slots = new Slots(options.concurrency)
    this.#owner = leaseOwnerId(options.world.randomHex(4))
    this.#marks = openRequestMarks({
      folder: markFolder(options.store),
      owner: this.#owner,
      world: options.world,
      idle_timeout_ms: options.ports.idle_timeout_ms,
    })
    this.#ports = {
      ...options.ports,
      requestMarks: this.#marks,
      publish: (delta) => this.#notify({ delta }),
    }
    this.#commands = new CommandReader({
      store: options.store,
      world: options.world,
      deliver: (run_id, commands) => this.#deliverCommands(run_id, commands),
      onFailure: (thrown) => this.#onCommandsUnreadable(thrown),
    })
    this.#heartbeat = new LeaseHeartbeat({
      store: options.store,
      world: options.world,
      leases: () => [...this.#activeRuns.values()].flatMap(({ lease }) => lease ?? []),
      onLost: (lease) => this.#onLeaseLost(lease),
    })
    this.#committer = new Committer(options.store, options.world, (events) => {
      this.#ports.onCommitted?.(events)
      this.#onCommitted(events)
    })
  }

  get #draining(): boolean {
    return this.#drain.signal.aborted
  }

  get active(): readonly string[] {
    return [...this.#activeRuns.keys()]
  }

  requestProgress(run_id: string, seq: number): RequestProgress | undefined {
    return this.#marks.progress(run_id, seq)
  }

  async start(start: Event): Promise<StartedRun> {
    const { run_id } = start
    if (this.#draining || this.#slots.isFull) {
      await this.#options.store.createRun(start)
      const done = this.#executeOrFollow(run_id)
      done.catch(() => {})
      return { done }
    }
    void this.#slots.take()
    const run = this.#activate(run_id)
    const created = this.#createLeasedRun(start)
    run.done = created.then(
      (lease) => this.#executeRun(run_id, run, { created: { lease, start } }),
      (error: unknown) => {
        this.#deactivate(run_id)
        throw error
      },
    )
    run.done.catch(() => {})
    await created
    return { done: run.done }
  }

  execute(run_id: string, reopen?: ReopenOptions): Promise<EndedRun | undefined> {
    const running = this.#activeRuns.get(run_id)
    if (running) {
      running.joined = true
      return running.done
    }
    return this.#executeLater(run_id, { reopen })
  }

  submit(run_id: string, reopen?: ReopenOptions): Promise<EndedRun | undefined> {
    return this.execute(run_id, reopen)
  }

  async claim(project: string, passOver?: ReadonlySet<string>): Promise<ClaimedRun | undefined> {
    for await (const row of claimableRuns(this.#options.store, project)) {
      const { run_id } = row
      if (passOver?.has(run_id)) continue
      const isExecutable = await this.#isExecutable(row)
      if (this.#draining || this.#slots.isFull) return undefined
      if (!isExecutable || this.#activeRuns.has(run_id)) continue
      const leased = Promise.withResolvers<boolean>()
      const done = this.#executeLater(run_id, { onLeased: () => leased.resolve(true) })
      done.then(
        () => leased.resolve(false),
        (thrown) => leased.resolve(toTroupeError(thrown).code !== 'run_busy'),
      )
      if (await leased.promise) return { run_id, done }
    }
    return undefined
  }

  /** False for a run that this process can never execute: claimed, it would hold up all newer ones (starvation). */
  #isExecutable(row: RunRow): Promise<boolean> {
    return checkExecutable(this.#options.store, this.#ports, row).then(
      () => true,
      () => false,
    )
  }

  /** Rejects before the run is leased, unless another process executes it, which is `run_busy`, or it is to be cancelled. */
  async check(run_id: string): Promise<void> {
    const { store } = this.#options
    const row = await store.run(run_id)
    if (!row || (row.owner !== null && !isOwnerDead(row.owner)) || (await hasCancelCommand(store, run_id))) return
    await checkExecutable(store, this.#ports, row)
  }

  /** Executes a queued run here, or waits while a process that claimed it does. */
  async #executeOrFollow(run_id: string): Promise<EndedRun | undefined> {
    const { store } = this.#options
    for (;;) {
      try {
        return await this.execute(run_id)
      } catch (thrown) {
        if (toTroupeError(thrown).code !== 'run_busy') throw thrown
      }
      await waitWhileLeased(this.#options, run_id, this.#drain.signal)
      const row = await store.run(run_id)
      if (this.#draining || !row || !(await needsExecution(store, row))) return undefined
    }
  }

  /** Executes a stored run as soon as there is a slot. */
  #executeLater(run_id: string, { reopen, onLeased }: { reopen?: ReopenOptions | undefined; onLeased?: () => void }) {
    const run = this.#activate(run_id, onLeased)
    run.done = Promise.resolve(this.#slots.take()).then(() => this.#executeRun(run_id, run, reopen ? { reopen } : {}))
    run.done.catch(() => {})
    return run.done
  }

  #activate(run_id: string, onLeased?: () => void): ActiveRun {
    const run: ActiveRun = {
      joined: false,
      missedCommands: false,
      attempt: undefined,
      lease: undefined,
      done: Promise.resolve(undefined),
      onLeased,
    }
    this.#activeRuns.set(run_id, run)
    this.#heartbeat.start()
    return run
  }

  #deactivate(run_id: string): void {
    this.#activeRuns.delete(run_id)
    if (this.#activeRuns.size === 0) {
      this.#heartbeat.stop()
      this.#commands.close()
    }
    this.#slots.release()
  }

  /** One transaction instead of two. Commands are read first: those that arrive from now on are delivered. */
  async #createLeasedRun(start: Event): Promise<HeldLease> {
    const { store, world } = this.#options
    const opening = this.#commands.open()
    if (opening) await opening
    const requested_at = world.now()
    return holdLease(await store.createRun(start, { owner: this.#owner, ttl_ms: LEASE_MS }), requested_at)
  }

  async #deliverCommands(run_id: string, commands: readonly Command[]): Promise<void> {
    const run = this.#activeRuns.get(run_id)
    if (run?.attempt) await run.attempt.applyCommands(commands)
    else if (run) run.missedCommands = true
  }

  subscribe(listener: (item: EngineItem) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async drain(): Promise<void> {
    this.#drain.abort()
    const runs = [...this.#activeRuns.values()]
    for (const { attempt } of runs) attempt?.pause()
    await Promise.allSettled(runs.map(({ done }) => done))
    this.#marks.close()
  }

  async #executeRun(run_id: string, run: ActiveRun, first: FirstAttempt): Promise<EndedRun | undefined> {
    const { store } = this.#options
    try {
      if (this.#draining && first.created) await store.release(first.created.lease).catch(() => {})
      if (this.#draining) return undefined
      const opening = this.#commands.open()
      if (opening) await opening
      let end = await this.#runAttempt(run_id, run, first).catch((error: unknown) => retryIfJoined(run, error))
      while (end === 'again' || end === 'parked') {
        if (end === 'parked') {
          // Prevents a lost wake-up: a command may arrive after the run has parked.
          run.joined = false
          const newer = await store.commands(run_id, run.attempt?.seenCommand ?? 0)
          if (newer.length === 0 && run.joined) continue
          if (newer.length === 0) break
        }
        if (this.#draining) return undefined
        end = await this.#runAttempt(run_id, run, {}).catch((error: unknown) => ignoreIfTakenOver(error))
      }
      return run.attempt?.end
    } finally {
      // Synchronous with the decision to stop: otherwise a later `execute` would join a run that is over.
      this.#deactivate(run_id)
    }
  }

  async #runAttempt(run_id: string, run: ActiveRun, { reopen, created }: FirstAttempt) {
    const { store } = this.#options
    const lease = created?.lease ?? (await this.#acquireLease(run_id))
    if (run.onLeased && !(await this.#isStillClaimable(lease))) return 'ended'
    run.lease = lease
    run.onLeased?.()
    const attempt = new RunAttempt({
      store,
      ports: this.#ports,
      startTurns: this.#options.startTurns,
      committer: this.#committer,
      owner: this.#owner,
      lease,
      reopen,
      ...(created && !run.missedCommands ? { created: created.start } : undefined),
      deliver: (events) => this.#onCommitted(events),
    })
    run.attempt = attempt
    if (this.#draining) attempt.pause()
    try {
      return await attempt.run()
    } finally {
      run.lease = undefined
      if (!attempt.hasReleased) await store.release(lease).catch(() => {})
    }
  }

  /** False, and the lease is given back, if another process has executed the run since this one listed it. */
  async #isStillClaimable(lease: HeldLease): Promise<boolean> {
    const { store } = this.#options
    let isClaimable = false
    try {
      const row = await store.run(lease.run_id)
      isClaimable = row !== undefined && (await needsExecution(store, row))
    } finally {
      if (!isClaimable) await store.release(lease).catch(() => {})
    }
    return isClaimable
  }

  #onLeaseLost(lease: HeldLease): void {
    const run = this.#activeRuns.get(lease.run_id)
    if (run?.lease === lease) run.attempt?.markLeaseLost()
  }

  /** Leases the run, including from an owner on this machine whose process is dead: its lease need not expire first. */
  async #acquireLease(run_id: string): Promise<HeldLease> {
    const { store, world } = this.#options
    await this.check(run_id)
    const claimant = { owner: this.#owner, ttl_ms: LEASE_MS }
    const requested_at = world.now()
    try {
      return holdLease(await store.lease(run_id, claimant), requested_at)
    } catch (thrown) {
      if (toTroupeError(thrown).code !== 'run_busy') throw thrown
      const owner = (await store.run(run_id))?.owner ?? null
      if (owner !== null && !isOwnerDead(owner)) throw thrown
      const dead_owners = owner === null ? [] : [owner]
      const retried_at = world.now()
      return holdLease(await store.lease(run_id, { ...claimant, dead_owners }), retried_at)
    }
  }

  #onCommandsUnreadable(thrown: unknown): void {
    const problem = `cannot read the commands of ${this.active.join(', ')}: ${toTroupeError(thrown).message}`
    const hint = 'check the store with troupe doctor, then resume the runs with troupe resume'
    this.#options.onListenerError(new TroupeError('store_failed', problem, { hint }))
  }

  #onCommitted(events: readonly Event[]): void {
    const { observers = [] } = this.#ports
    for (const event of events) {
      // Frozen: the event is still in use, for the conversation and, in memory, as the journal.
      const shown = observers.length > 0 ? frozenCopy(event) : event
      for (const observe of observers) this.#callListener(() => observe(shown))
      if (this.#listeners.size > 0) this.#notify({ event })
    }
  }

  #notify(item: EngineItem): void {
    for (const listener of this.#listeners) this.#callListener(() => listener(item))
  }

  #callListener(call: () => unknown): void {
    const report = (thrown: unknown) => this.#options.onListenerError(toTroupeError(thrown))
    try {
      const returned = call()
      // An unhandled rejection of an async listener would end the process.
      if (returned instanceof Promise) returned.catch(report)
    } catch (thrown) {
      report(thrown)
    }
  }
}

/**
 * Retries if a caller joined meanwhile: after a lost lease, because the new owner may have parked the run before an answer; in a
 * process that lacks parts, because it may cancel the run.
 */
function retryIfJoined(run: ActiveRun, error: unknown): 'again' {
  if (run.joined && ['lease_lost', 'needs_missing', 'unknown_pattern'].includes(toTroupeError(error).code))
    return 'again'
  throw error
}

/** Ignores `run_busy`: the process that sent the command executes the run itself. */
function ignoreIfTakenOver(error: unknown): 'ended' {
  if (toTroupeError(error).code === 'run_busy') return 'ended'
  throw error
}
