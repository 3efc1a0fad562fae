import { setMaxListeners } from 'node:events'
import { TroupeError } from '../errors.ts'
import type { Budget } from './budget.ts'
import { isEvent } from './event.ts'
import type { GateAnswer, Question } from './gate.ts'
import { sha256, shortHash } from './hash.ts'
import type { Committer, Journal } from './journal.ts'
import type { ToolSpec } from './model.ts'
import type { Ports, RunFacts } from './ports.ts'
import type { Recorded } from './recorded.ts'
import type { SessionResult } from './session.ts'
import type { Span } from './spans.ts'
import { covered } from './spans.ts'
import { untilAborted } from './world.ts'

/*
 * One attempt at executing a run: from a lease to its end, a wait, an interruption or a crash.
 * 1. A key is claimed once per execution.
 * 2. Every effect is counted while in flight. When none is, nothing is left to commit, and someone waits for a human (or
 *    the run was asked to pause), the execution is quiet and may be abandoned: its promises never settle.
 * 3. No new effect starts once paused or stopped.
 * 4. Before the first new action of a resumed run, every recorded action has been claimed: otherwise the code no longer
 *    matches the journal and acting on would do harm.
 */

/** On whose behalf a human is asked. */
export interface Asker {
  session_id: string
  agent: string
}

export class Execution {
  readonly run: RunFacts
  readonly ports: Ports
  readonly journal: Journal
  readonly recorded: Recorded
  readonly budget: Budget
  /** Sub-sessions opened so far, by parent. */
  readonly children: Map<string, number>
  /** Sessions at work in the background of this execution, and how each will end. */
  readonly background = new Map<string, Promise<SessionResult>>()
  /** Sessions with an open segment, and the key that holds them. */
  readonly active: Map<string, string>
  /** Tools as models see them, made once for all sessions that have the same. */
  readonly specs = new Map<string, readonly ToolSpec[]>()
  /** How many of the run's steering commands have been handed out. */
  steered = 0
  /** Called when the execution is quiet. */
  onQuiet: (() => void) | undefined
  /**
   * To be awaited just before an effect, after its begin is committed: a process that stood still past its lease asks
   * whether the run is still its own. Rejects with `lease_lost`.
   */
  holdsLease: () => Promise<void> | undefined = () => undefined
  readonly #committer: Committer
  readonly #scope = new AbortController()
  readonly #claimed = new Set<string>()
  readonly #waiting = new Map<string, { key: string; since: number; resolve: (answer: unknown) => void }>()
  readonly #waited: (Span & { key: string })[] = []
  #inFlight = 0
  #onIdle: (() => void) | undefined
  readonly #recalling = new Set<Promise<unknown>>()
  #paused = false
  #checking = false
  #replayed: Promise<void> | undefined

  constructor(parts: {
    run: RunFacts
    ports: Ports
    journal: Journal
    committer: Committer
    recorded: Recorded
    budget: Budget
  }) {
    this.run = parts.run
    this.ports = parts.ports
    this.journal = parts.journal
    this.recorded = parts.recorded
    this.budget = parts.budget
    this.children = parts.recorded.childCounts()
    this.active = parts.recorded.openSessions()
    this.#committer = parts.committer
    setMaxListeners(0, this.#scope.signal)
    this.journal.onPoisoned = (error) => this.#scope.abort(error)
  }

  get signal(): AbortSignal {
    return this.#scope.signal
  }

  /** Gates that someone in this execution waits for. */
  get waiting(): string[] {
    return [...this.#waiting.keys()]
  }

  get paused(): boolean {
    return this.#paused
  }

  /** Ends all work below with this reason; sessions keep what they have. */
  stop(reason: TroupeError): void {
    this.#scope.abort(reason)
  }

  /** Lets what is in flight finish and starts nothing new. */
  pause(): void {
    this.#paused = true
    this.#look()
  }

  /** Every key that was asked for in this execution. */
  get claimed(): ReadonlySet<string> {
    return this.#claimed
  }

  claim(key: string): void {
    if (this.#claimed.has(key)) {
      throw new TroupeError('duplicate_step', `the step '${key}' is asked for twice in one execution`, {
        hint: 'give each effect its own key, such as an index in a loop',
      })
    }
    this.#claimed.add(key)
  }

  /** Runs an effect, counted while in flight. A paused run starts none. */
  async effect<T>(run: () => Promise<T>): Promise<T> {
    if (this.signal.aborted) throw this.signal.reason
    return this.#counted(run)
  }

  async #counted<T>(run: () => Promise<T>): Promise<T> {
    await this.enter()
    try {
      return await run()
    } finally {
      this.leave()
    }
  }

  /** Fetches what has to be there before recorded steps can be claimed: a conversation, a model. */
  async recall<T>(look: () => Promise<T>): Promise<T> {
    // Also after an abort: what the journal holds has to be read before a session can end with it.
    const fetching = this.#counted(look)
    this.#recalling.add(fetching)
    try {
      return await fetching
    } finally {
      this.#recalling.delete(fetching)
    }
  }

  /** @internal Pair with `leave`; for effects that are streams. */
  enter(): Promise<void> | undefined {
    if (this.#paused) return NEVER
    this.#inFlight += 1
    this.#committer.crowd += 1
    return this.#committer.admit()
  }

  leave(): void {
    this.#inFlight -= 1
    this.#committer.crowd -= 1
    if (this.#inFlight > 0) return
    this.#onIdle?.()
    this.#look()
  }

  /** Stops what is still at work when the run has its result, and waits for its last words. */
  async finish(): Promise<void> {
    if (this.#inFlight === 0 && this.active.size === 0) return
    this.#scope.abort(new TroupeError('cancelled', 'the run ended before this did'))
    do {
      const idle = Promise.withResolvers<void>()
      this.#onIdle = idle.resolve
      if (this.#inFlight > 0) await idle.promise
      await new Promise<void>((resolve) => this.ports.world.defer(resolve))
    } while (this.#inFlight > 0)
  }

  /** Waits for the answer of a gate: recorded, given while we live, or never in this execution. */
  ask(key: string, question: Question, signal: AbortSignal, by?: Asker): Promise<unknown> {
    this.claim(key)
    const settled = this.recorded.settled(key)
    if (settled) return Promise.resolve((settled.data as GateAnswer).answer)
    if (signal.aborted) return Promise.reject(signal.reason)
    const opened = this.recorded.opened(key)
    // A gate keeps the id that people were shown, whatever newer code calls its step.
    const gate_id = isEvent(opened, 'gate:open') ? opened.data.gate_id : `g_${shortHash(`${this.run.id}\n${key}`)}`
    if (!opened) {
      const gate = { key, gate_id, ...question, ...(by ? { asked_by: by.agent } : undefined) }
      this.recorded.add(this.journal.append('gate:open', gate, by?.session_id))
    }
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#waiting.set(gate_id, { key, since: this.ports.world.now(), resolve })
    this.#look()
    return untilAborted(promise, signal).finally(() => this.#waiting.delete(gate_id))
  }

  /** Hands a human's answer in. Idempotent: an answer that the journal already has changes nothing. */
  async answer(gate: { key: string; gate_id: string }, answer: unknown, by: string): Promise<void> {
    if (!this.recorded.settled(this.recorded.nameOf(gate.key))) {
      const event = this.journal.append('gate:answer', { key: gate.key, gate_id: gate.gate_id, answer, by })
      this.recorded.add(event)
      await this.journal.committed('full')
    }
    const waiter = this.#waiting.get(gate.gate_id)
    if (!waiter) return
    this.#waiting.delete(gate.gate_id)
    this.#waited.push({ key: waiter.key, from: waiter.since, to: this.ports.world.now() })
    waiter.resolve(answer)
  }

  /** Milliseconds in this execution in which a human was asked on behalf of something under this key. */
  waitedUnder(key: string): number {
    const now = this.ports.world.now()
    const open = [...this.#waiting.values()].map((gate) => ({ key: gate.key, from: gate.since, to: now }))
    const below = [...this.#waited, ...open].filter((gate) => gate.key.startsWith(`${key}/`))
    return covered(below, { from: 0, to: now })
  }

  /** The same for every attempt at the call with this key. */
  idempotencyKey(key: string): string {
    return sha256(`${this.run.id}\n${key}`).slice(0, 32)
  }

  /** Compares what is asked now with what was recorded; the record wins, unless strict. */
  checkDrift(key: string, recorded: string | null, now: string | null): void {
    if (recorded === null || now === null || recorded === now) return
    if (this.ports.strict) {
      throw new TroupeError('step_drift', `the step '${key}' now asks something else than its journal recorded`, {
        hint: 'run the version of the code that wrote the journal, or resume without strict',
      })
    }
    this.journal.append('step:drift', { key, recorded, now })
  }

  /** To be awaited before a new action: see invariant 4. */
  beforeAction(): Promise<void> | undefined {
    if (this.recorded.empty || this.ports.sealed) return undefined
    this.#replayed ??= this.#replay()
    return this.#replayed
  }

  async #replay(): Promise<void> {
    for (let claimed = -1; claimed !== this.#claimed.size || this.#recalling.size > 0; ) {
      claimed = this.#claimed.size
      // Waited for, not polled: a paused run fetches nothing any more, and its process has to come to an end.
      await Promise.allSettled(this.#recalling)
      await new Promise<void>((resolve) => this.ports.world.defer(resolve))
    }
    const [lost] = this.recorded.unclaimedActions(this.#claimed)
    if (lost === undefined) return
    throw new TroupeError(
      'unclaimed_action',
      `the journal holds an action '${lost}' that the code no longer asks for`,
      {
        hint: 'resume with the version that began it, or name the new key in the pattern’s `renamed`',
      },
    )
  }

  #look(): void {
    if (this.#checking || this.#inFlight > 0) return
    if (this.#waiting.size === 0 && !this.#paused) return
    this.#checking = true
    this.ports.world.defer(() => {
      this.#checking = false
      if (this.#inFlight > 0 || (this.#waiting.size === 0 && !this.#paused)) return
      if (this.journal.busy)
        this.journal
          .committed()
          .then(() => this.#look())
          .catch(() => {})
      else this.onQuiet?.()
    })
  }
}

const NEVER = new Promise<never>(() => {})
