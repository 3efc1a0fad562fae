import { describe, test } from 'vitest'
import { processStore } from '../../test/chaos/process-store.ts'
import { agent } from '../../test/support/test-troupe.ts'
import { compose } from '../runtime/compose.ts'
import { MemoryStore } from '../store/memory.ts'
import type { Store } from '../store/store.ts'
import type { EngineHarness, EngineHarnessOptions, EngineProcess } from '../testing/engine-contract.ts'
import { engineContract } from '../testing/engine-contract.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import type { SimulatedWorld } from '../testing/simulated-world.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { EmbeddedEngine } from './embedded-engine.ts'

/** Engines in simulated processes, each with a clock of its own, on one store. */
class Stage implements EngineHarness {
  readonly store = new MemoryStore()
  readonly #latency: number
  readonly #worlds: SimulatedWorld[] = []
  readonly #random = seededRandom(7)
  #seed = 1
  #clock = Date.UTC(2030, 0, 1)

  constructor(latency: number) {
    this.#latency = latency
  }

  async startEngine(parts: EngineHarnessOptions): Promise<EngineProcess> {
    const world = simulatedWorld(this.#seed++, { start: this.#now() })
    const store = this.#reached(world)
    const agents = [agent('lead'), agent('helper')]
    const { patterns, model, concurrency = 16 } = parts
    const { ports } = await compose({ store, patterns, agents, engine: { world }, ...(model ? { model } : undefined) })
    const onListenerError = parts.onListenerError ?? (() => {})
    const engine = new EmbeddedEngine({ store, world, ports, concurrency, onListenerError })
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
    if (!settled) throw new Error('nothing is left to do, and what was waited for has not come')
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

  /** One task of the process that is furthest behind. */
  async #step(): Promise<boolean> {
    const living = this.#worlds.filter((world) => !world.killed).sort((a, b) => a.now() - b.now())
    for (const world of living) if (await world.step()) return true
    if (living.length === 0) await new Promise((resolve) => setImmediate(resolve))
    return false
  }

  #now(): number {
    return this.#worlds.reduce((latest, world) => (world.killed ? latest : Math.max(latest, world.now())), this.#clock)
  }

  /** The store as one process reaches it: late, if the stage says so, and not at all once the process is gone. */
  #reached(world: SimulatedWorld): Store {
    const scene = {
      get dead() {
        return world.killed
      },
      passBoundary: () => undefined,
      delay: () => (this.#latency === 0 ? undefined : world.sleep(Math.floor(this.#random() * this.#latency))),
      refuseAppend: () => undefined,
    }
    const { store } = this
    return processStore(scene, () => store, {
      append: (batch) => store.append(structuredClone(batch)),
      change: (_synced, redo) => redo(store),
    })
  }
}

engineContract('the embedded engine', () => new Stage(0), { describe, test })
engineContract('the embedded engine on a store that answers late', () => new Stage(12), { describe, test })
