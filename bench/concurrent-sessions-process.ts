import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createTroupe } from '../src/runtime/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import { assertEqual } from './bench.ts'
import { benchAgent, openBenchEngine, openStore, WIDE_LIMITS } from './bench-engine.ts'
import type { ConversationPlan } from './plan.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE } from './plan.ts'
import { measureMs } from './rounds.ts'

/*
 * Measures one contender in its own process, so that memory and event-loop stalls belong to it alone. Usage:
 * node --expose-gc concurrent-sessions-process.ts CONTENDER SESSIONS FOLDER; prints one line of JSON.
 */

export interface SessionsReport {
  wall_ms: number
  /** Live heap per session while every session waits for its last response. */
  heap_kb: number
  /** Peak of the whole process, including Node, warm-up and garbage. */
  rss_mb: number
  stall_p999_ms: number
  stall_max_ms: number
  stall_samples: number
}

export type ContenderName = 'bare' | 'generate' | 'memory' | 'sqlite' | 'memory-runs' | 'sqlite-runs'

/** Runs concurrent conversations and returns the elapsed milliseconds. */
type SessionsRunner = (sessions: number, plan: ConversationPlan) => Promise<number>

const RESOLUTION_MS = 1
const PLAN: ConversationPlan = { turns: 5, calls: 1, tool: 'look', latency_ms: 100 }

function withoutTroupe(createConversation: (plan: ConversationPlan) => () => Promise<string>): SessionsRunner {
  return async (sessions, plan) => {
    const converse = createConversation(plan)
    return measureMs(async () => {
      const answers = await Promise.all(Array.from({ length: sessions }, converse))
      for (const answer of answers) assertEqual(answer, RESPONSE, 'a response')
    })
  }
}

/** All sessions in one run. */
function inOneRun(store: 'memory' | 'sqlite', folder: string): SessionsRunner {
  return async (sessions, plan) => {
    const tools = [planTool(plan)]
    const agent = benchAgent(tools)
    const benchEngine = openBenchEngine({ store: await openStore(store, folder), model: planModel(plan), tools })
    const items = Array.from({ length: sessions }, (_, index) => index)
    const ms = await measureMs(() =>
      benchEngine.run(async (context) => {
        const results = await context.parallel(items, sessions, (index) =>
          context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` }),
        )
        for (const result of results) assertEqual(result.ok && result.value.text, RESPONSE, 'a response')
      }),
    )
    await benchEngine.close()
    return ms
  }
}

/** One run per session, through the public API. */
function inOwnRuns(store: 'memory' | 'sqlite', folder: string): SessionsRunner {
  let files = 0
  return async (sessions, plan) => {
    const tools = [planTool(plan)]
    const troupe = await createTroupe({
      store: store === 'memory' ? 'memory' : join(folder, `sessions-${process.pid}-${files++}.db`),
      model: planModel(plan),
      agents: [benchAgent(tools)],
      tools,
      limits: WIDE_LIMITS,
      engine: { concurrency: sessions },
    })
    const runTask = async () => {
      const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
      assertEqual((output as { response?: string } | null)?.response, RESPONSE, 'a response')
    }
    const ms = await measureMs(() => Promise.all(Array.from({ length: sessions }, runTask)))
    await troupe.close()
    return ms
  }
}

function findRunner(name: string, folder: string): SessionsRunner {
  switch (name) {
    case 'bare':
      return withoutTroupe((plan) => {
        const [model, tool] = [planModel(plan), planTool(plan)]
        return () => bareLoop(model, tool)
      })
    case 'generate':
      return withoutTroupe((plan) => {
        const sdk = sdkContender(plan)
        return () => sdk.generate()
      })
    case 'memory':
    case 'sqlite':
      return inOneRun(name, folder)
    case 'memory-runs':
      return inOwnRuns('memory', folder)
    case 'sqlite-runs':
      return inOwnRuns('sqlite', folder)
    default:
      throw new Error(`unknown contender '${name}'`)
  }
}

function measureLiveHeap(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Measures the live heap while every session waits: the last response is held back until all sessions have requested it. */
async function measureHeap(runSessions: SessionsRunner, sessions: number): Promise<number> {
  const before = measureLiveHeap()
  const all = Promise.withResolvers<void>()
  let [requested, peak] = [0, 0]
  const measure = () => {
    peak = measureLiveHeap()
    all.resolve()
  }
  const onTurn = (turn: number) => {
    if (turn !== PLAN.turns) return undefined
    if (++requested === sessions) setTimeout(measure, PLAN.latency_ms)
    return all.promise
  }
  await runSessions(sessions, { ...PLAN, latency_ms: 1, onTurn })
  return peak - before
}

async function main([name = '', count = '1000', folder = '.']: readonly string[]): Promise<void> {
  const sessions = Number(count)
  const runSessions = findRunner(name, folder)
  for (let warmup = 0; warmup < 5; warmup++) await runSessions(Math.min(sessions, 1000), { ...PLAN, latency_ms: 2 })
  measureLiveHeap()
  const stalls = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  stalls.enable()
  const wall_ms = await runSessions(sessions, PLAN)
  stalls.disable()
  const stallMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  const report: SessionsReport = {
    wall_ms,
    rss_mb: process.resourceUsage().maxRSS / 1024,
    stall_p999_ms: stallMs(stalls.percentile(99.9)),
    stall_max_ms: stallMs(stalls.max),
    stall_samples: stalls.count,
    heap_kb: (await measureHeap(runSessions, sessions)) / 1024 / sessions,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

await main(process.argv.slice(2))
