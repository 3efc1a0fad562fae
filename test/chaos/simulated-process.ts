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

/** What strikes a process when it passes its `at`-th boundary. */
export type Fault =
  | { kind: 'none' }
  | { kind: 'kill' | 'power' | 'forget' | 'full'; at: number }
  | { kind: 'jump'; at: number; ms: number }
  /** Stands still for longer than its lease while another process takes over, which gets `steps` tasks ahead. */
  | { kind: 'suspend'; at: number; steps: number }

export interface ProcessPlan {
  seed: number
  start: number
  fault: Fault
  /** The longest a call takes, in milliseconds; 0 answers at once. */
  slow: { model: number; tool: number; store: number }
  /** Another run than the reference run: what its models say. */
  respond?: Respond
  /** For proving that the oracle sees it: tools that say of every action in doubt that it did not happen. */
  skip_recovery?: boolean
  /** What its troupe has that the reference run's has not. */
  options?: TroupeOptions
}

const NEVER = new Promise<never>(() => {})

/** What the providers and systems outside have seen, over all lives of a run. */
export class ExternalLedger {
  readonly calls: { key: string; usage: Usage; again: boolean }[] = []
  readonly effects = new Map<string, { tool: string; times: number }>()
  /** Calls that a process was in the middle of when it stood still: it cannot be kept from finishing them. */
  readonly suspended_calls = new Set<string>()
  readonly #disk: SimulatedDisk

  constructor(disk: SimulatedDisk) {
    this.#disk = disk
  }

  recordCall(key: string, usage: Usage): void {
    this.calls.push({ key, usage, again: this.#disk.answered_calls.has(key) && !this.suspended_calls.has(key) })
  }

  recordAction(tool: string, idempotency_key: string): void {
    const times = (this.effects.get(idempotency_key)?.times ?? 0) + 1
    this.effects.set(idempotency_key, { tool, times })
  }

  /** Calls after the first `from` that a provider got and whose answers are nowhere. */
  unanswered(from: number): number {
    return this.calls.slice(from).filter(({ key }) => !this.#disk.answered_calls.has(key)).length
  }
}

/** One process: from its start to its end, whatever brings it about. */
export class SimulatedProcess implements FaultHooks {
  readonly world: SimulatedWorld
  readonly external: ExternalSystem
  readonly store: Store
  /** Boundaries passed so far, with what each was. */
  readonly boundaries: string[] = []
  readonly active_calls = new Set<string>()
  /** Resolves when this process stands still. */
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
      change: <T>(synced: boolean, redo: (store: Store) => Promise<T>) => disk.change(synced, redo),
    }
    this.store = processStore(this, () => disk.store, writes)
  }

  get dead(): boolean {
    return this.world.killed
  }

  open(): Promise<Troupe> {
    const engine = { world: this.world }
    const model = referenceModel(this, this.#plan.respond)
    const careful = referenceTools(this)
    const own = this.#plan.skip_recovery ? careful.map((tool) => ({ ...tool, recover: () => undefined })) : careful
    const usual = { store: this.store, model, tools: own, agents, limits, engine, models: { prices } }
    return createTroupe({ ...usual, ...this.#plan.options })
  }

  passBoundary(place: string): Promise<void> | undefined {
    if (this.dead) return NEVER
    this.boundaries.push(place)
    const { fault } = this.#plan
    if (fault.kind === 'none' || this.boundaries.length !== fault.at) return undefined
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

  delay(what: string): Promise<void> | undefined {
    if (this.dead) return NEVER
    const { model, tool, store } = this.#plan.slow
    const most = what === 'model' ? model : TOOL_NAMES.has(what) ? tool : store
    if (most === 0) return undefined
    return this.world.sleep(Math.floor(this.#random() * (most + 1)))
  }

  refuseAppend(): TroupeError | undefined {
    if (!this.#full) return undefined
    this.#full = false
    return diskFullError()
  }

  thaw(): void {
    this.#thaw.resolve()
  }

  /** What the end of this process does to the disk. */
  async applyFaultToDisk(): Promise<void> {
    if (!this.dead) return
    if (this.#plan.fault.kind === 'power') await this.#disk.losePower()
    if (this.#plan.fault.kind === 'forget') await this.#disk.forgetLastAppend()
  }
}

const TOOL_NAMES = new Set(['ship', 'charge', 'put', 'look', 'boom'])
