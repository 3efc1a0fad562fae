import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { EmbeddedEngine } from '../src/engine/embedded.ts'
import { realWorld } from '../src/engine/real-world.ts'
import { sessionPorts } from '../src/engine/sessions.ts'
import type { Agent } from '../src/kernel/agent.ts'
import type { Context } from '../src/kernel/context.ts'
import { isEvent } from '../src/kernel/event.ts'
import type { Limits } from '../src/kernel/limits.ts'
import { DEFAULT_LIMITS } from '../src/kernel/limits.ts'
import type { Model } from '../src/kernel/model.ts'
import { NO_PACING } from '../src/kernel/pacing.ts'
import { definePattern } from '../src/kernel/pattern.ts'
import { ALL_PERMITTED } from '../src/kernel/permission.ts'
import { NO_PRICES } from '../src/kernel/price.ts'
import { createRoster } from '../src/kernel/roster.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { MemoryStore } from '../src/store/memory.ts'
import { openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { mustEqual } from './bench.ts'
import { INSTRUCTIONS } from './plan.ts'

/** Wide enough not to get in the way; budget, steps and journal are all at work. */
export const WIDE: Limits = {
  ...DEFAULT_LIMITS,
  calls: null,
  tokens: null,
  usd: null,
  wall_ms: null,
  breadth: 1_000_000,
  concurrency: 1_000_000,
  turns: 1_000_000,
}

export type StoreName = 'memory' | 'sqlite'

export interface StageOptions {
  store: Store
  model: Model
  tools?: readonly Tool[]
}

/** A real engine on a real store, where a bench is the pattern. */
export interface Stage {
  readonly store: Store
  readonly engine: EmbeddedEngine
  /** Starts a run that does `work` and waits for it to end or to park; the run must not fail. */
  play(work: Work): Promise<string>
  /** Goes on with a run, in this process. */
  resume(run_id: string, work: Work): Promise<void>
  close(): Promise<void>
}

export type Work = (context: Context) => Promise<void>

export function agentWith(tools: readonly Tool[]): Agent {
  return {
    name: 'worker',
    description: 'Does what the bench asks',
    instructions: INSTRUCTIONS,
    tools: tools.map(({ name }) => name),
  }
}

export async function openStore(name: StoreName, folder: string): Promise<Store> {
  if (name === 'memory') return new MemoryStore()
  return openSqlite(join(folder, `${randomBytes(4).toString('hex')}.db`))
}

export function openStage({ store, model, tools = [] }: StageOptions): Stage {
  const works = new Map<string, Work>()
  const world = realWorld()
  const pattern = definePattern({
    name: 'bench',
    description: 'Whatever the bench measures',
    version: 1,
    input: z.unknown(),
    output: z.unknown(),
    category: 'planning',
    delegates: true,
    async execute(context) {
      await works.get(context.run_id)?.(context)
      return { success: true, output: 'done' }
    },
  })
  const engine = new EmbeddedEngine({
    store,
    world,
    concurrency: 1_000_000,
    onListenerError: (error) => {
      throw error
    },
    ports: {
      world,
      models: { resolve: () => model },
      prices: NO_PRICES,
      roster: createRoster([agentWith(tools)]),
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      patterns: new Map([[pattern.name, pattern]]),
      patternTools: new Map(),
      hooks: [],
      strict: true,
      pacing: NO_PACING,
      permissions: ALL_PERMITTED,
      ...sessionPorts(store),
    },
  })

  async function resume(run_id: string, work: Work): Promise<void> {
    works.set(run_id, work)
    await engine.execute(run_id)
    works.delete(run_id)
    await mustNotFail(store, run_id)
  }

  return {
    store,
    engine,
    resume,
    async play(work) {
      const run_id = `r_${world.randomHex(6)}`
      const data = { format: 1 as const, project: 'bench', pattern: 'bench', version: 1, input: null, limits: WIDE }
      await store.createRun({ run_id, seq: 1, at: world.now(), type: 'run:start', data })
      await resume(run_id, work)
      return run_id
    },
    async close() {
      await engine.drain()
      await store.close()
    },
  }
}

async function mustNotFail(store: Store, run_id: string): Promise<void> {
  const row = await store.run(run_id)
  if (row?.status === 'waiting') return
  const [last] = await store.events(run_id, { after: (row?.head ?? 1) - 1 })
  const error = isEvent(last, 'run:end') ? last.data.error : null
  mustEqual(error === null ? row?.status : error.message, 'completed', `run ${run_id}`)
}
