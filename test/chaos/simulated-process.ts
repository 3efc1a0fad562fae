import type { TroupeError } from '../../src/errors.ts'
import type { Troupe, TroupeOptions } from '../../src/index.ts'
import type { Usage } from '../../src/kernel/model.ts'
import { createTroupe } from '../../src/runtime/troupe.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { SimulatedWorld } from '../../src/testing/simulated-world.ts'
import { simulatedWorld } from '../../src/testing/simulated-world.ts'
import { diskFullError, processStore } from './process-store.ts'
import type { Respond } from './reference-model.ts'
import { referenceModel } from './reference-model.ts'
import type { ExternalSystem, FaultHooks } from './reference-run.ts'
import { agents, limits, prices, referenceTools } from './reference-run.ts'
import type { SimulatedDisk } from './simulated-disk.ts'

/** A fault injected when a process passes its n-th `boundary`. */
export type Fault =
  | { kind: 'none' }
  | { kind: 'kill' | 'power' | 'forget' | 'full'; boundary: number }
  | { kind: 'jump'; boundary: number; ms: number }
  /** Suspends the process for longer than its lease while another process takes over and runs `steps` tasks. */
  | { kind: 'suspend'; boundary: number; steps: number }

export interface ProcessPlan {
  seed: number
  start: number
  fault: Fault
  /** Maximum latency in milliseconds; 0 means synchronous. */
  latency: { model: number; tool: number; store: number }
  /** Model responses of a scenario other than the reference run. */
  respond?: Respond
  /** Makes `recover` claim that no action happened: a bug that the oracle must detect. */
  skip_recovery?: boolean
  /** Additional options of the troupe. */
  options?: TroupeOptions
}

const NEVER = new Promise<never>(() => {})

/** Everything that the external systems received from all processes of a run. */
export class ExternalLedger {
  readonly calls: { key: string; usage: Usage; repeated: boolean }[] = []
  readonly effects = new Map<string, { tool: string; times: number }>()
  /** Calls in flight when a process was suspended; nothing can stop it from finishing them. */
  readonly suspended_calls = new Set<string>()
  readonly #disk: SimulatedDisk

  constructor(disk: SimulatedDisk) {
    this.#disk = disk
  }

  recordCall(key: string, usage: Usage): void {
    this.calls.push({ key, usage, repeated: this.#disk.answered_calls.has(key) && !this.suspended_calls.has(key) })
  }

  recordAction(tool: string, idempotency_key: string): void {
    const times = (this.effects.get(idempotency_key)?.times ?? 0) + 1
    this.effects.set(idempotency_key, { tool, times })
  }

  /** Number of model requests from index `start` on whose response was not committed. */
  countUnanswered(start: number): number {
    return this.calls.slice(start).filter(({ key }) => !this.#disk.answered_calls.has(key)).length
  }
}

/** One simulated process with its own world, store view and fault. */
export class SimulatedProcess implements FaultHooks {
  readonly world: SimulatedWorld
  readonly external: ExternalSystem
  readonly store: Store
  /** Names of the boundaries passed so far. */
  readonly boundaries: string[] = []
  readonly active_calls = new Set<string>()
  /** Resolves when this process is suspended. */
  readonly frozen = Promise.withResolvers<'frozen'>()
  readonly #plan: ProcessPlan
  readonly #disk: SimulatedDisk
  readonly #random: () => number
  readonly #thaw = Promise.withResolvers<void>()
  #full = false

  constructor(plan: ProcessPlan, disk: SimulatedDisk, ledger: ExternalLedger) {
    this.#plan = plan
    this.#disk = disk
    this.#random = seededRandom(plan.seed ^ 0x2545f491)
    this.world = simulatedWorld(plan.seed, { start: plan.start, max_steps: 20_000 })
    disk.clock = () => this.world.now()
    this.external = {
      recordCall: (key, usage) => {
        if (!this.dead) ledger.recordCall(key, usage)
      },
      recordAction: (tool, key) => {
        if (!this.dead) ledger.recordAction(tool, key)
      },
      hasActed: (key) => ledger.effects.has(key),
    }
    const writes = {
      append: disk.append.bind(disk),
      change: <T>(synced: boolean, apply: (store: Store) => Promise<T>) => disk.change(synced, apply),
    }
    this.store = processStore(this, () => disk.store, writes)
  }

  get dead(): boolean {
    return this.world.killed
  }

  open(): Promise<Troupe> {
    const engine = { world: this.world }
    const model = referenceModel(this, this.#plan.respond)
    const recovering = referenceTools(this)
    const tools = this.#plan.skip_recovery
      ? recovering.map((tool) => ({ ...tool, recover: () => undefined }))
      : recovering
    const options = { store: this.store, model, tools, agents, limits, engine, models: { prices } }
    return createTroupe({ ...options, ...this.#plan.options })
  }

  passBoundary(name: string): Promise<void> | undefined {
    if (this.dead) return NEVER
    this.boundaries.push(name)
    const { fault } = this.#plan
    if (fault.kind === 'none' || this.boundaries.length !== fault.boundary) return undefined
    if (fault.kind === 'full') this.#full = true
    if (fault.kind === 'jump') this.world.shiftClock(fault.ms)
    if (fault.kind === 'suspend') {
      this.frozen.resolve('frozen')
      return this.#thaw.promise
    }
    if (fault.kind !== 'kill' && fault.kind !== 'power' && fault.kind !== 'forget') return undefined
    this.world.kill()
    return NEVER
  }

  delay(operation: string): Promise<void> | undefined {
    if (this.dead) return NEVER
    const { model, tool, store } = this.#plan.latency
    const maximum = operation === 'model' ? model : TOOL_NAMES.has(operation) ? tool : store
    if (maximum === 0) return undefined
    return this.world.sleep(Math.floor(this.#random() * (maximum + 1)))
  }

  rejectAppend(): TroupeError | undefined {
    if (!this.#full) return undefined
    this.#full = false
    return diskFullError()
  }

  thaw(): void {
    this.#thaw.resolve()
  }

  /** Applies the fault of a killed process to the disk. */
  async applyFaultToDisk(): Promise<void> {
    if (!this.dead) return
    if (this.#plan.fault.kind === 'power') await this.#disk.losePower()
    if (this.#plan.fault.kind === 'forget') await this.#disk.forgetLastAppend()
  }
}

const TOOL_NAMES = new Set(['ship', 'charge', 'put', 'look', 'boom'])
