import type { Engine } from '../../src/engine/engine.ts'
import type { Model } from '../../src/kernel/model.ts'
import type { Pattern } from '../../src/kernel/pattern.ts'
import type { Store } from '../../src/store/store.ts'

/** Options of one engine in a test case. */
export interface EngineHarnessOptions {
  patterns: readonly Pattern[]
  model?: Model
  /** Maximum number of runs that execute at once. */
  concurrency?: number
  onListenerError?: (error: Error) => void
}

/** One engine, simulating a process of its own. */
export interface EngineProcess {
  engine: Engine
  /** Simulates SIGKILL: the process stops without cleanup. */
  kill(): void
}

/** A store and the engines that share it. */
export interface EngineHarness {
  store: Store
  startEngine(options: EngineHarnessOptions): Promise<EngineProcess>
  /** Awaits a promise; a harness with a simulated world must drive it meanwhile. */
  runUntil<T>(promise: Promise<T>): Promise<T>
  /** Advances the clock. */
  advance(ms: number): Promise<void>
  dispose(): Promise<void> | void
}
