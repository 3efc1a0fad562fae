import { setMaxListeners } from 'node:events'
import { TroupeError } from '../../errors.ts'
import type { PartialOutputReader } from '../context.ts'
import type { Event, SessionOpen } from '../event.ts'
import { isEvent } from '../event.ts'
import type { GateAnswer, Question } from '../gate.ts'
import { sha256, shortHash } from '../hash.ts'
import type { Ports, RunInfo } from '../ports.ts'
import type { Budget } from '../session/budget.ts'
import { SessionQueues } from '../session/session-queue.ts'
import type { SessionResult } from '../session-result.ts'
import { withAbort } from '../world.ts'
import { dependentSteps, unclaimedSessions } from './dependent-steps.ts'
import { duplicateStepError, unclaimedActionError } from './fatal-error.ts'
import type { FlushScheduler, Journal } from './journal.ts'
import type { JournalIndex } from './journal-index.ts'
import { branchSlotAfter } from './parallel.ts'
import { ResumedSessions } from './resumed-sessions.ts'
import type { TimeSpan } from './time-span.ts'
import { coveredMs } from './time-span.ts'

/*
 * One attempt at executing a run: from a lease to its end, a park, an interruption or a crash.
 * 1. A key is claimed once per execution.
 * 2. Every effect is counted while it is in flight. When none is, everything is committed, and a gate is open (or the run was
 *    asked to pause), the execution can be parked: it is abandoned, and its promises never settle.
 * 3. No new effect starts once the execution is paused or aborted.
 * 4. Before the first new action of a resumed run, every recorded action has been claimed. Otherwise the code no longer
 *    matches the journal, and acting could repeat what was done.
 * 5. In a reopened run, nothing new begins and no retried step ends before the replay is quiet and the steps that depend on the retried ones are cut.
 */

/** The session that asks a person. */
export interface Asker {
  session_id: string
  agent: string
  /** The source of the agent's definition. */
  from?: string
}

export class Execution {
  readonly run: RunInfo
  readonly ports: Ports
  readonly journal: Journal
  readonly journalIndex: JournalIndex
  readonly budget: Budget
  /** Number of sub-sessions opened so far, by parent session. */
  readonly subSessionCounts: Map<string, number>
  /** Background sessions of this execution. */
  readonly backgroundSessions = new Map<string, { opening: SessionOpen; result: Promise<SessionResult> }>()
  readonly resumedSessions = new ResumedSessions()
  /** Sessions that wait until others have ended. */
  readonly sessionQueues = new SessionQueues()
  /** Sessions with an open segment, and the key that opened it. */
  readonly activeSessions: Map<string, string>
  /** Steering commands that a pattern has taken, by their position in the journal. */
  readonly takenSteering = new Set<number>()
  /** The output of the run's pattern so far, for an end before it returns. */
  readPartialOutput: PartialOutputReader | undefined
  /** Called when the execution can be parked. */
  onParkable: (() => void) | undefined
  /**
   * Await it just before an effect, after its start is committed. A process that was suspended past its lease checks here
   * that it still owns the run; otherwise this rejects with `lease_lost`.
   */
  ensureLease: () => Promise<void> | undefined = () => undefined
  readonly #scheduler: FlushScheduler
  readonly #abortController = new AbortController()
  readonly #claimedKeys = new Set<string>()
  readonly #waiting = new Map<string, { key: string; since: number; resolve: (answer: unknown) => void }>()
  readonly #pastWaits: (TimeSpan & { key: string })[] = []
  #inFlight = 0
  #onIdle: (() => void) | undefined
  readonly loading = new Set<Promise<unknown>>()
  #isPaused = false
  readonly #interruptListeners = new Set<() => void>()
  readonly #abandonListeners = new Set<() => void>()
  #checkScheduled = false
  #replayed: Promise<void> | undefined
  #cut: Promise<void> | undefined

  constructor(parts: {
    run: RunInfo
    ports: Ports
    journal: Journal
    scheduler: FlushScheduler
    recorded: JournalIndex
    budget: Budget
  }) {
    this.run = parts.run
    this.ports = parts.ports
    this.journal = parts.journal
    this.journalIndex = parts.recorded
    this.budget = parts.budget
    this.subSessionCounts = parts.recorded.subSessionCounts()
    this.activeSessions = parts.recorded.openSessions()
    this.#scheduler = parts.scheduler
    setMaxListeners(0, this.#abortController.signal)
    this.journal.onPoisoned = (error) => this.#abortController.abort(error)
  }

  get signal(): AbortSignal {
    return this.#abortController.signal
  }

  /** Ids of the open gates that this execution waits for. */
  get waitingGates(): string[] {
    return [...this.#waiting.keys()]
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** Aborts all work with this reason; sessions end with their partial results. */
  abort(reason: TroupeError): void {
    this.#abortController.abort(reason)
  }

  /** Lets effects in flight finish and starts no new ones. */
  pause(): void {
    this.#isPaused = true
    this.interrupt()
    this.#checkParkable()
  }

  /** Called when the run is paused or parked: work that can continue in a later execution stops. Returns the unsubscriber. */
  onInterrupt(listener: () => void): () => void {
    this.#interruptListeners.add(listener)
    return () => void this.#interruptListeners.delete(listener)
  }

  interrupt(): void {
    for (const listener of [...this.#interruptListeners]) listener()
  }

  /** Called when the run parks and its promises are dropped: nothing may hold the process any longer. Returns the unsubscriber. */
  onAbandon(listener: () => void): () => void {
    this.#abandonListeners.add(listener)
    return () => void this.#abandonListeners.delete(listener)
  }

  abandon(): void {
    this.interrupt()
    for (const listener of [...this.#abandonListeners]) listener()
  }

  /** Every key that was claimed in this execution. */
  get claimedKeys(): ReadonlySet<string> {
    return this.#claimedKeys
  }

  /** Claims a key and returns its recorded outcome, if the journal holds one. */
  claim(key: string): Event | undefined {
    if (this.#claimedKeys.has(key)) throw duplicateStepError(key)
    this.#claimedKeys.add(key)
    return this.journalIndex.outcome(key)
  }

  /** Runs an effect and counts it as in flight. A paused execution starts none. */
  async runEffect<T>(run: () => Promise<T>): Promise<T> {
    if (this.signal.aborted) throw this.signal.reason
    await this.beginEffect()
    return this.#endAfter(run)
  }

  async #endAfter<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } finally {
      this.endEffect()
    }
  }

  /** Loads what recorded steps depend on, such as a conversation or a model, before they can be claimed. */
  async load<T>(read: () => Promise<T>): Promise<T> {
    // Also after an abort: a session needs its recorded conversation to end with a partial result.
    const loading = Promise.resolve(this.#countEffect()).then(() => this.#endAfter(read))
    this.loading.add(loading)
    try {
      return await loading
    } finally {
      this.loading.delete(loading)
    }
  }

  /** For effects that are streams; pair it with `endEffect`. */
  beginEffect(): Promise<void> | undefined {
    const cut = this.ensureCut()
    return cut ? cut.then(() => this.#countEffect()) : this.#countEffect()
  }

  #countEffect(): Promise<void> | undefined {
    if (this.#isPaused) return NEVER
    this.#inFlight += 1
    this.#scheduler.inFlight += 1
    return this.#scheduler.acquireSlot()
  }

  endEffect(): void {
    this.#inFlight -= 1
    this.#scheduler.inFlight -= 1
    if (this.#inFlight > 0) return
    this.#onIdle?.()
    this.#checkParkable()
  }

  /** Aborts work that is still running when the run has its result, and waits until it has recorded its end. */
  async finish(): Promise<void> {
    if (this.#inFlight === 0 && this.activeSessions.size === 0) return
    const hint = 'continue the session in a new run with `session_id`'
    this.#abortController.abort(new TroupeError('cancelled', 'the run ended before this session did', { hint }))
    do {
      const idle = Promise.withResolvers<void>()
      this.#onIdle = idle.resolve
      if (this.#inFlight > 0) await idle.promise
      await new Promise<void>((resolve) => this.ports.world.defer(resolve))
    } while (this.#inFlight > 0)
  }

  /** Waits for the answer of a gate: recorded, given during this execution, or never in it. */
  waitForGate(
    { key, signal }: { key: string; signal: AbortSignal },
    question: Question,
    asker?: Asker,
  ): Promise<unknown> {
    const recorded = this.claim(key)
    if (recorded) return Promise.resolve((recorded.data as GateAnswer).answer)
    if (signal.aborted) return Promise.reject(signal.reason)
    const opened = this.journalIndex.opening(key)
    // People were shown this id: the gate keeps it even if newer code has renamed its step.
    const gate_id = isEvent(opened, 'gate:open') ? opened.data.gate_id : `g_${shortHash(this.#identity(key))}`
    if (!opened) {
      const from = asker?.from === undefined ? undefined : { agent_from: asker.from }
      const gate = { key, gate_id, ...question, ...(asker ? { asked_by: asker.agent, ...from } : undefined) }
      this.journalIndex.add(this.journal.append('gate:open', gate, asker?.session_id))
    }
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#waiting.set(gate_id, { key, since: this.ports.world.monotonic(), resolve })
    this.#checkParkable()
    return withAbort(promise, signal).finally(() => this.#waiting.delete(gate_id))
  }

  /** Delivers a person's answer. Idempotent: an answer that the journal already holds changes nothing. */
  async answerGate(
    { key, gate_id }: Pick<GateAnswer, 'key' | 'gate_id'>,
    { answer, by }: Pick<GateAnswer, 'answer' | 'by'>,
  ): Promise<void> {
    const current = this.journalIndex.currentKey(key)
    const opened = this.journalIndex.opening(current)
    // The stored answer of a gate that was cut: another gate asks at this step now.
    if (isEvent(opened, 'gate:open') ? opened.data.gate_id !== gate_id : this.journalIndex.isReopened) return
    if (!this.journalIndex.outcome(current)) {
      const event = this.journal.append('gate:answer', { key, gate_id, answer, by })
      this.journalIndex.add(event)
      await this.journal.commit('full')
    }
    const waiter = this.#waiting.get(gate_id)
    if (!waiter) return
    this.#waiting.delete(gate_id)
    this.#pastWaits.push({ key: waiter.key, from: waiter.since, to: this.ports.world.monotonic() })
    waiter.resolve(answer)
  }

  /** Milliseconds of this execution in which gates under this key were open. */
  gateWaitMs(key: string): number {
    const now = this.ports.world.monotonic()
    const open = [...this.#waiting.values()].map((gate) => ({ key: gate.key, from: gate.since, to: now }))
    const below = [...this.#pastWaits, ...open].filter((gate) => gate.key.startsWith(`${key}/`))
    return coveredMs(below, { from: 0, to: now })
  }

  /** The same for every attempt at the tool call with this key. */
  idempotencyKey(key: string): string {
    return sha256(this.#identity(key)).slice(0, 32)
  }

  /** Shared by the tool calls of the turn with this key. */
  callGroup(key: string): string {
    return `pg_${shortHash(this.#identity(key))}`
  }

  #identity(key: string): string {
    return `${this.run.id}\n${this.journalIndex.identity(key)}`
  }

  /** Detects drift: the code now passes another input than was recorded. The record wins, unless `strict` is set. */
  checkDrift(key: string, recorded: string | null, now: string | null): void {
    if (recorded === null || now === null || recorded === now) return
    if (this.ports.strict) {
      throw new TroupeError('step_drift', `the input of the step '${key}' differs from the recorded one`, {
        hint: 'resume with the version of the code that wrote the journal, or without `engine.strict`',
      })
    }
    this.journal.append('step:drift', { key, recorded_hash: recorded, current_hash: now })
  }

  /** Await it before a new action: see invariant 4. */
  ensureReplayed(): Promise<void> | undefined {
    if (this.journalIndex.isEmpty || this.ports.replayOnly) return undefined
    this.#replayed ??= this.#waitForReplay()
    return this.#replayed
  }

  /** Await it before anything new in a reopened run: see invariant 5. */
  ensureCut(): Promise<void> | undefined {
    if (this.ports.replayOnly) return undefined
    if (this.journalIndex.isCutDue) this.#cut ??= this.#cutWhenQuiet()
    return branchSlotAfter(this.#cut)
  }

  /** Held as in flight: the run must not park before what it retries. */
  async #cutWhenQuiet(): Promise<void> {
    const release = this.#isPaused ? () => {} : this.#holdUntilInterrupt()
    // Paused meanwhile, its journal may be closed.
    const cut = () => (this.#isPaused ? NEVER : this.#cutDependentSteps())
    const cutting = this.#waitUntilQuiet().then(cut)
    await cutting.then(() => this.journal.commit()).finally(release)
    this.#cut = undefined
  }

  /** Counts as an effect in flight until it is released, or the execution is paused. */
  #holdUntilInterrupt(): () => void {
    this.#inFlight += 1
    this.#scheduler.inFlight += 1
    const release = () => {
      if (this.#interruptListeners.delete(release)) this.endEffect()
    }
    this.#interruptListeners.add(release)
    return release
  }

  #cutDependentSteps(): void {
    const { journalIndex, resumedSessions } = this
    const { failedAt } = journalIndex
    if (failedAt === undefined) return
    const [open, counts] = [journalIndex.openSessions(), journalIndex.subSessionCounts()]
    const claimed = new Set([...this.#claimedKeys].filter((key) => !resumedSessions.isUnreached(key)))
    const keys = dependentSteps(journalIndex.recorded, { failedAt, claimed })
    journalIndex.add(this.journal.append('run:cut', { keys }))
    for (const [session_id, key] of open) if (!journalIndex.opening(key)) this.#dropSession(session_id, key)
    const [now, left] = [this.subSessionCounts, journalIndex.subSessionCounts()]
    for (const [id, count] of counts) now.set(id, (now.get(id) ?? 0) - count + (left.get(id) ?? 0))
  }

  #dropSession(session_id: string, key: string): void {
    this.activeSessions.delete(session_id)
    this.backgroundSessions.delete(session_id)
    if (!this.resumedSessions.end(key)) return
    for (const step of this.#claimedKeys) if (`${step}/`.startsWith(`${key}/`)) this.#claimedKeys.delete(step)
  }

  /** At the end of a completed run: what it has not reached since a retry is no part of its result. */
  cutUnreached({ isIncomplete }: { isIncomplete: boolean }): void {
    this.#cutDependentSteps()
    const { recorded, isReopened } = this.journalIndex
    const keys = isReopened ? unclaimedSessions(recorded, { claimed: this.#claimedKeys, onlyOpen: isIncomplete }) : []
    if (keys.length > 0) this.journalIndex.add(this.journal.append('run:cut', { keys }))
  }

  async #waitUntilQuiet(): Promise<void> {
    for (let claimed = -1; claimed !== this.#claimedKeys.size || this.loading.size > 0; ) {
      claimed = this.#claimedKeys.size
      // Awaited, not polled: a paused execution loads nothing more, and its process must be able to exit.
      await Promise.allSettled(this.loading)
      await new Promise<void>((resolve) => this.ports.world.defer(resolve))
    }
  }

  async #waitForReplay(): Promise<void> {
    await this.#waitUntilQuiet()
    const [lost] = this.journalIndex.unclaimedActions(this.#claimedKeys)
    if (lost === undefined) return
    throw unclaimedActionError(lost)
  }

  #checkParkable(): void {
    if (this.#checkScheduled || this.#inFlight > 0) return
    if (this.#waiting.size === 0 && !this.#isPaused) return
    this.#checkScheduled = true
    this.ports.world.defer(() => {
      this.#checkScheduled = false
      if (this.#inFlight > 0 || (this.#waiting.size === 0 && !this.#isPaused)) return
      if (this.journal.hasUncommitted)
        this.journal
          .commit()
          .then(() => this.#checkParkable())
          .catch(() => {})
      else this.onParkable?.()
    })
  }
}

const NEVER = new Promise<never>(() => {})
