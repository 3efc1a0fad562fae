import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { createRoster } from '../src/engine/create-roster.ts'
import { EmbeddedEngine } from '../src/engine/embedded-engine.ts'
import { realWorld } from '../src/engine/real-world.ts'
import { sessionPorts } from '../src/engine/session-ports.ts'
import type { Agent } from '../src/kernel/agent.ts'
import type { Context } from '../src/kernel/context.ts'
import { isEvent } from '../src/kernel/event.ts'
import type { Limits } from '../src/kernel/limits.ts'
import { DEFAULT_LIMITS } from '../src/kernel/limits.ts'
import type { Model } from '../src/kernel/model.ts'
import type { EventSchemas } from '../src/kernel/pattern.ts'
import { definePattern } from '../src/kernel/pattern.ts'
import { NO_RETRIES } from '../src/kernel/retry-policy.ts'
import { NO_PRICES } from '../src/kernel/spend.ts'
import type { Tool } from '../src/kernel/tool.ts'
import { startTurns } from '../src/performers/start-turns.ts'
import { requestAnswer } from '../src/requests/request-answer.ts'
import { DEFAULT_SESSION_POLICY } from '../src/runtime/default-session-policy.ts'
import { openMemory, openSqlite } from '../src/store/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { MCP_TOOL_NAMES } from '../src/tools/mcp/mcp-tool-names.ts'
import { assertEqual } from './bench.ts'
import { INSTRUCTIONS } from './plan.ts'

/** Limits that are never reached; budget, steps and journal are active. */
export const WIDE_LIMITS: Limits = {
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

export interface BenchEngineOptions {
  store: Store
  model: Model
  tools?: readonly Tool[]
  /** Events of a pattern that the work executes itself. */
  events?: EventSchemas
}

/** A real engine on a real store; the benchmark is the pattern. */
export interface BenchEngine {
  readonly store: Store
  readonly engine: EmbeddedEngine
  /** Starts a run that executes `work` and waits until it ends or parks; throws if the run fails. */
  run(work: Work): Promise<string>
  /** Resumes a run in this process. */
  resume(run_id: string, work: Work): Promise<void>
  close(): Promise<void>
}

export type Work = (context: Context) => Promise<void>

export function benchAgent(tools: readonly Tool[]): Agent {
  return {
    name: 'worker',
    description: 'Agent of the benchmarks',
    instructions: INSTRUCTIONS,
    tools: tools.map(({ name }) => name),
  }
}

export async function openStore(name: StoreName, folder: string): Promise<Store> {
  if (name === 'memory') return openMemory()
  return openSqlite(join(folder, `${randomBytes(4).toString('hex')}.db`))
}

export function openBenchEngine({ store, model, tools = [], events = {} }: BenchEngineOptions): BenchEngine {
  const works = new Map<string, Work>()
  const world = realWorld()
  const pattern = definePattern({
    name: 'bench',
    description: 'Pattern of the benchmarks',
    version: 1,
    input: z.unknown(),
    output: z.unknown(),
    category: 'planning',
    delegation: { self: 'count', cycles: 'refuse' },
    events,
    async execute(context) {
      await works.get(context.run_id)?.(context)
      return { success: true, output: 'done' }
    },
  })
  const engine = new EmbeddedEngine({
    store,
    world,
    startTurns,
    concurrency: 1_000_000,
    onListenerError: (error) => {
      throw error
    },
    ports: {
      world,
      models: { resolve: () => model },
      prices: NO_PRICES,
      roster: createRoster([benchAgent(tools)]),
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      patterns: new Map([[pattern.name, pattern]]),
      patternTools: new Map(),
      serverToolNames: MCP_TOOL_NAMES,
      sessionPolicy: DEFAULT_SESSION_POLICY,
      loadRequests: async () => requestAnswer,
      hooks: [],
      host: { provided: {}, needsFor: () => undefined },
      strict: true,
      retryPolicy: NO_RETRIES,
      permissions: { decide: () => ({ decision: 'allow', reason: 'no rules are set', allowedRules: [] }) },
      ...sessionPorts(store),
    },
  })

  async function resume(run_id: string, work: Work): Promise<void> {
    works.set(run_id, work)
    await engine.execute(run_id)
    works.delete(run_id)
    await assertCompleted(store, run_id)
  }

  return {
    store,
    engine,
    resume,
    async run(work) {
      const run_id = `r_${world.randomHex(6)}`
      const data = {
        format: 2 as const,
        project: 'bench',
        pattern: 'bench',
        version: 1,
        input: null,
        limits: WIDE_LIMITS,
      }
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

async function assertCompleted(store: Store, run_id: string): Promise<void> {
  const row = await store.run(run_id)
  if (row?.status === 'waiting') return
  const [last] = await store.events(run_id, { after: (row?.head ?? 1) - 1 })
  const error = isEvent(last, 'run:end') ? last.data.error : null
  assertEqual(error === null ? row?.status : error.message, 'completed', `run ${run_id}`)
}
