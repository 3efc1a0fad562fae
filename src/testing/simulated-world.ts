import { setTimeout as realTimer, setImmediate as realTurn } from 'node:timers'
import { TroupeError } from '../errors.ts'
import type { World } from '../kernel/world.ts'
import { seededRandom } from './seeded-random.ts'

export interface SimulationOptions {
  /** What `now()` says at first. */
  start?: number
  /** After this many tasks a simulation is taken to run in circles. */
  max_steps?: number
  /** Turns of the real event loop that may bring something new before a silent simulation counts as dead. */
  idle_turns?: number
  /** What the program under test is waiting for; shown when it waits for ever. */
  describe_waiting?: () => readonly string[]
}

/** A world whose time passes only when nothing else is left to do, and whose coincidences follow from a seed. */
export interface SimulatedWorld extends World {
  readonly seed: number
  readonly killed: boolean
  /** Drives the world until the promise settles; rejects when it never can. */
  runUntil<T>(until: Promise<T>): Promise<T>
  /** Lets everything that is ready go on, then runs one task; false when none is queued. */
  step(): Promise<boolean>
  /** The wall clock is set forward or back; timers do not notice. */
  shiftClock(ms: number): void
  /** The process stands still for `ms`: whatever became due meanwhile is late, and comes in any order. */
  suspend(ms: number): void
  /** The process is gone: nothing that waits, now or later, ever goes on. */
  kill(): void
  /** What is queued, in words, the earliest first. */
  pendingTasks(): string[]
}

interface Timer {
  due: number
  label: string
  fire(): void
  forget(): void
}

/**
 * 1. The same program under the same seed runs the same tasks in the same order.
 * 2. Timers due at the same time, and the next deferred task, come in an order that the seed chooses. Deferred tasks
 *    keep their order among themselves, as the real ones do.
 * 3. After `kill` no sleep settles, no deferred task runs, and `run` rejects.
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
    // Two streams: one more id drawn by the program must not change the order of unrelated tasks.
    this.#schedulerRandom = seededRandom(seed)
    this.#programRandom = seededRandom(seed ^ 0x5bd1e995)
  }

  now(): number {
    return this.#options.start + this.#elapsed + this.#clockShift
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
    const aborted = () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
      reject(signal?.reason)
    }
    const forget = () => signal?.removeEventListener('abort', aborted)
    const timer = { due: this.#elapsed + Math.max(0, ms || 0), label: `sleep(${ms})`, fire: resolve, forget }
    signal?.addEventListener('abort', aborted, { once: true })
    this.#timers.push(timer)
    return promise
  }

  after(ms: number, task: () => void): () => void {
    const cancelled = new AbortController()
    this.sleep(ms, cancelled.signal).then(task, () => {})
    return () => cancelled.abort()
  }

  async runUntil<T>(until: Promise<T>): Promise<T> {
    let settled = false
    const settle = () => {
      settled = true
    }
    until.then(settle, settle)
    for (;;) {
      await nextEventLoopTurn()
      if (settled) return until
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
    for (const timer of this.#timers) timer.forget()
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
    timer.forget()
    timer.fire()
    return true
  }

  /** Real work off this thread, such as a lazy import, is not a deadlock. */
  async #waitForExternalWork(settled: () => boolean): Promise<boolean> {
    for (let turn = 0; turn < this.#options.idle_turns; turn++) {
      await nextEventLoopTurn()
      if (settled() || this.killed || this.#canRun()) return true
      if (turn % 10 === 9) await new Promise((resolve) => realTimer(resolve, 1))
    }
    return false
  }

  #canRun(): boolean {
    return this.#deferred.length > 0 || this.#timers.some(({ due }) => due < Number.POSITIVE_INFINITY)
  }

  #deadlock(): TroupeError {
    const waiting = [...this.pendingTasks(), ...this.#options.describe_waiting()]
    const list = waiting.length > 0 ? waiting.join('; ') : 'a promise that nothing queued can settle'
    return this.#error('internal', `deadlock at ${this.#elapsed} ms, after ${this.#steps} tasks; waiting: ${list}`)
  }

  #error(code: 'internal' | 'cancelled', message: string): TroupeError {
    return new TroupeError(code, `${message} (seed ${this.seed})`, { hint: `replay it with seed ${this.seed}` })
  }
}

/** Promises settle each other without limit before this resolves. */
function nextEventLoopTurn(): Promise<void> {
  return new Promise((resolve) => realTurn(resolve))
}
