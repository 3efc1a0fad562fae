import { describe, test } from 'vitest'
import { processStore } from '../../test/chaos/process-store.ts'
import { engineContract } from '../../test/engine/engine-contract.ts'
import type { EngineHarness, EngineHarnessOptions, EngineProcess } from '../../test/engine/engine-harness.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent } from '../../test/support/test-troupe.ts'
import { startTurns } from '../performers/start-turns.ts'
import { compose } from '../runtime/compose.ts'
import type { Store } from '../store/store.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import type { SimulatedWorld } from '../testing/simulated-world.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { EmbeddedEngine } from './embedded-engine.ts'

/** Engines in simulated processes, each with its own clock, on one store. */
class SimulatedProcesses implements EngineHarness {
  readonly store = memoryStore({ now: () => this.#now() })
  readonly #latency: number
  readonly #worlds: SimulatedWorld[] = []
  readonly #random = seededRandom(7)
  #seed = 1
  #clock = Date.UTC(2030, 0, 1)

  constructor(latency: number) {
    this.#latency = latency
  }

  async startEngine(options: EngineHarnessOptions): Promise<EngineProcess> {
    const world = simulatedWorld(this.#seed++, { start: this.#now() })
    const store = this.#storeSeenBy(world)
    const agents = [agent('lead'), agent('helper')]
    const { patterns, model, concurrency = 16 } = options
    const parts = await compose({ store, patterns, agents, engine: { world }, ...(model ? { model } : undefined) })
    const { ports } = await parts.execution.get()
    const onListenerError = options.onListenerError ?? (() => {})
    const engine = new EmbeddedEngine({ store, world, ports, startTurns, concurrency, onListenerError })
    this.#worlds.push(world)
    return { engine, kill: () => world.kill() }
  }

  async runUntil<T>(until: Promise<T>): Promise<T> {
    let settled = false
    const settle = () => {
      settled = true
    }
    until.then(settle, settle)
    for (let idle = 0; !settled && idle < 100; ) idle = (await this.#step()) ? 0 : idle + 1
    if (!settled) throw new Error('all simulated processes are idle and the promise has not settled')
    return until
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now() + ms
    for (let idle = 0; this.#now() < end && idle < 20; ) idle = (await this.#step()) ? 0 : idle + 1
    this.#clock = Math.max(this.#clock, end)
    for (const world of this.#worlds) world.shiftClock(Math.max(0, end - world.now()))
  }

  dispose(): void {
    for (const world of this.#worlds) world.kill()
  }

  /** Runs one task of the process whose clock is furthest behind. */
  async #step(): Promise<boolean> {
    const alive = this.#worlds.filter((world) => !world.killed).sort((a, b) => a.now() - b.now())
    for (const world of alive) if (await world.step()) return true
    if (alive.length === 0) await new Promise((resolve) => setImmediate(resolve))
    return false
  }

  #now(): number {
    return this.#worlds.reduce((latest, world) => (world.killed ? latest : Math.max(latest, world.now())), this.#clock)
  }

  /** The store as one process sees it: with latency, and unreachable once the process is killed. */
  #storeSeenBy(world: SimulatedWorld): Store {
    const faults = {
      get dead() {
        return world.killed
      },
      passBoundary: () => undefined,
      delay: () => (this.#latency === 0 ? undefined : world.sleep(Math.floor(this.#random() * this.#latency))),
      rejectAppend: () => undefined,
    }
    const { store } = this
    return processStore(faults, () => store, {
      append: (batch) => store.append(structuredClone(batch)),
      change: (_synced, redo) => redo(store),
    })
  }
}

engineContract('the embedded engine', () => new SimulatedProcesses(0), { describe, test })
engineContract('the embedded engine on a store with latency', () => new SimulatedProcesses(12), { describe, test })
