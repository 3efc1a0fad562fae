import { setTimeout as realTimer, setImmediate as realTurn } from 'node:timers'
import { TroupeError } from '../errors.ts'
import type { World } from '../kernel/world.ts'
import { seededRandom } from './seeded-random.ts'

export interface SimulationOptions {
  /** Initial value of `now()` in milliseconds. */
  start?: number
  /** Maximum number of tasks before `runUntil` reports an endless loop. */
  max_steps?: number
  /** Idle turns of the real event loop before `runUntil` reports a deadlock. */
  idle_turns?: number
  /** Describes what the program waits for; added to the deadlock error. */
  describe_waiting?: () => readonly string[]
}

/** Deterministic simulation of a `World`: time advances only when nothing else can run, and the seed decides every race. */
export interface SimulatedWorld extends World {
  readonly seed: number
  readonly killed: boolean
  /** Runs tasks until the promise settles; rejects on a deadlock. */
  runUntil<T>(promise: Promise<T>): Promise<T>
  /** Runs one queued task; returns false if there is none. */
  step(): Promise<boolean>
  /** Shifts the wall clock forward or back without moving timers. */
  shiftClock(ms: number): void
  /** Simulates a suspended process: tasks that became due meanwhile run late, in any order. */
  suspend(ms: number): void
  /** Simulates SIGKILL: no pending or later task ever runs. */
  kill(): void
  /** Descriptions of the queued tasks, the earliest first. */
  pendingTasks(): string[]
}

interface Timer {
  due: number
  label: string
  fire(): void
  removeAbortListener(): void
}

/**
 * 1. The same program under the same seed runs the same tasks in the same order.
 * 2. The seed chooses the order of timers due at the same time and of the next deferred task. Deferred tasks keep
 *    their order among themselves, as in the real event loop.
 * 3. After `kill` no sleep settles, no deferred task runs, and `runUntil` rejects.
 */
export function simulatedWorld(seed: number, options: SimulationOptions = {}): SimulatedWorld {
  return new Simulation(seed, options)
}

class Simulation implements SimulatedWorld {
  readonly seed: number
  killed = false
  readonly #options: Required<SimulationOptions>
  readonly #schedulerRandom: () => number
  readonly #programRandom: () => number
  #timers: Timer[] = []
  #deferred: (() => void)[] = []
  #elapsed = 0
  #clockShift = 0
  #steps = 0

  constructor(seed: number, options: SimulationOptions) {
    this.seed = seed
    const start = Date.UTC(2030, 0, 1)
    this.#options = { start, max_steps: 1_000_000, idle_turns: 2000, describe_waiting: () => [], ...options }
    // Two random streams: an additional id drawn by the program must not change the order of unrelated tasks.
    this.#schedulerRandom = seededRandom(seed)
    this.#programRandom = seededRandom(seed ^ 0x5bd1e995)
  }

  now(): number {
    return this.#options.start + this.#elapsed + this.#clockShift
  }

  monotonic(): number {
    return this.#elapsed
  }

  random(): number {
    return this.#programRandom()
  }

  randomHex(bytes: number): string {
    let hex = ''
    for (let byte = 0; byte < bytes; byte++)
      hex += Math.floor(this.#programRandom() * 256)
        .toString(16)
        .padStart(2, '0')
    return hex
  }

  defer(task: () => void): void {
    if (!this.killed) this.#deferred.push(task)
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.killed) return new Promise(() => {})
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
      reject(signal?.reason)
    }
    const removeAbortListener = () => signal?.removeEventListener('abort', onAbort)
    const timer = {
      due: this.#elapsed + Math.max(0, ms || 0),
      label: `sleep(${ms})`,
      fire: resolve,
      removeAbortListener,
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#timers.push(timer)
    return promise
  }

  after(ms: number, task: () => void): () => void {
    const cancelled = new AbortController()
    this.sleep(ms, cancelled.signal).then(task, () => {})
    return () => cancelled.abort()
  }

  async runUntil<T>(promise: Promise<T>): Promise<T> {
    let settled = false
    const markSettled = () => {
      settled = true
    }
    promise.then(markSettled, markSettled)
    for (;;) {
      await nextEventLoopTurn()
      if (settled) return promise
      if (this.killed) throw this.#error('cancelled', `the simulated process was killed after ${this.#steps} tasks`)
      if (this.#steps >= this.#options.max_steps) throw this.#error('internal', `no end after ${this.#steps} tasks`)
      if (this.#runNextTask()) continue
      if (!(await this.#waitForExternalWork(() => settled))) throw this.#deadlock()
    }
  }

  async step(): Promise<boolean> {
    await nextEventLoopTurn()
    return this.#runNextTask()
  }

  shiftClock(ms: number): void {
    this.#clockShift += ms
  }

  suspend(ms: number): void {
    this.#elapsed += Math.max(0, ms)
  }

  kill(): void {
    this.killed = true
    for (const timer of this.#timers) timer.removeAbortListener()
    this.#timers = []
    this.#deferred = []
  }

  pendingTasks(): string[] {
    const timers = this.#timers.toSorted((a, b) => a.due - b.due)
    return [
      ...this.#deferred.map(() => 'a deferred task'),
      ...timers.map(({ label, due }) => `${label}, due at ${due} ms`),
    ]
  }

  #runNextTask(): boolean {
    if (!this.#canRun()) return false
    if (this.#deferred.length === 0) {
      const next = this.#timers.reduce((earliest, { due }) => Math.min(earliest, due), Number.POSITIVE_INFINITY)
      this.#elapsed = Math.max(this.#elapsed, next)
    }
    this.#steps++
    const due = this.#timers.filter((timer) => timer.due <= this.#elapsed)
    const pick = Math.floor(this.#schedulerRandom() * (due.length + (this.#deferred.length > 0 ? 1 : 0)))
    const timer = due[pick]
    if (!timer) {
      this.#deferred.shift()?.()
      return true
    }
    this.#timers = this.#timers.filter((other) => other !== timer)
    timer.removeAbortListener()
    timer.fire()
    return true
  }

  /** Waits for real work outside the simulation, such as a lazy import, which is not a deadlock. */
  async #waitForExternalWork(isSettled: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < this.#options.idle_turns; turn++) {
      await nextEventLoopTurn()
      if (isSettled() || this.killed || this.#canRun()) return true
      if (turn % 10 === 9) await new Promise((resolve) => realTimer(resolve, 1))
    }
    return false
  }

  #canRun(): boolean {
    return this.#deferred.length > 0 || this.#timers.some(({ due }) => due < Number.POSITIVE_INFINITY)
  }

  #deadlock(): TroupeError {
    const waiting = [...this.pendingTasks(), ...this.#options.describe_waiting()]
    const list = waiting.length > 0 ? waiting.join('; ') : 'a promise that no queued task can settle'
    return this.#error('internal', `deadlock at ${this.#elapsed} ms, after ${this.#steps} tasks; waiting: ${list}`)
  }

  #error(code: 'internal' | 'cancelled', message: string): TroupeError {
    return new TroupeError(code, `${message} (seed ${this.seed})`, { hint: `replay it with seed ${this.seed}` })
  }
}

/** Resolves after the microtask queue is empty. */
function nextEventLoopTurn(): Promise<void> {
  return new Promise((resolve) => realTurn(resolve))
}
