import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createTroupe } from '../src/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import { mustEqual } from './bench.ts'
import type { Plan } from './plan.ts'
import { ANSWER, INSTRUCTION, planModel, planTool } from './plan.ts'
import { clocked } from './rounds.ts'
import { agentWith, openStage, openStore, WIDE } from './stage.ts'

/*
 * One crowd in a process of its own, so that memory and stalls are this contender's and nobody else's. Usage:
 * node --expose-gc crowd-process.ts CONTENDER SESSIONS FOLDER; prints one line of JSON.
 */

export interface CrowdReport {
  wall_ms: number
  /** Live heap while every session waits for its last answer, per session. */
  heap_kb: number
  /** The whole process at its largest: Node, warm-up and garbage with it. */
  rss_mb: number
  stall_p999_ms: number
  stall_max_ms: number
  stall_samples: number
}

export type CrowdName = 'bare' | 'generate' | 'memory' | 'sqlite' | 'memory-runs' | 'sqlite-runs'

/** Runs that many conversations at once and returns how long they took. */
type Crowd = (sessions: number, plan: Plan) => Promise<number>

const RESOLUTION_MS = 1
const PLAN: Plan = { turns: 5, calls: 1, tool: 'look', latency_ms: 100 }

function loose(talkOf: (plan: Plan) => () => Promise<string>): Crowd {
  return async (sessions, plan) => {
    const talk = talkOf(plan)
    return clocked(async () => {
      const answers = await Promise.all(Array.from({ length: sessions }, talk))
      for (const answer of answers) mustEqual(answer, ANSWER, 'an answer')
    })
  }
}

/** Every session in the same run. */
function inOneRun(store: 'memory' | 'sqlite', folder: string): Crowd {
  return async (sessions, plan) => {
    const tools = [planTool(plan)]
    const agent = agentWith(tools)
    const stage = openStage({ store: await openStore(store, folder), model: planModel(plan), tools })
    const items = Array.from({ length: sessions }, (_, index) => index)
    const ms = await clocked(() =>
      stage.play(async (context) => {
        const results = await context.parallel(items, sessions, (index) =>
          context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` }),
        )
        for (const result of results) mustEqual(result.ok && result.value.text, ANSWER, 'an answer')
      }),
    )
    await stage.close()
    return ms
  }
}

/** A run for every session, through the public way in. */
function inOwnRuns(store: 'memory' | 'sqlite', folder: string): Crowd {
  let files = 0
  return async (sessions, plan) => {
    const tools = [planTool(plan)]
    const troupe = await createTroupe({
      store: store === 'memory' ? 'memory' : join(folder, `crowd-${process.pid}-${files++}.db`),
      model: planModel(plan),
      agents: [agentWith(tools)],
      tools,
      limits: WIDE,
      engine: { concurrency: sessions },
    })
    const ask = async () => {
      const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
      mustEqual((output as { response?: string } | null)?.response, ANSWER, 'an answer')
    }
    const ms = await clocked(() => Promise.all(Array.from({ length: sessions }, ask)))
    await troupe.close()
    return ms
  }
}

function crowdOf(name: string, folder: string): Crowd {
  switch (name) {
    case 'bare':
      return loose((plan) => {
        const [model, tool] = [planModel(plan), planTool(plan)]
        return () => bareLoop(model, tool)
      })
    case 'generate':
      return loose((plan) => {
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
      throw new Error(`no crowd is called '${name}'`)
  }
}

function collect(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** The live heap while every session waits for its last answer: nobody gets it before all have asked. */
async function heapOf(crowd: Crowd, sessions: number): Promise<number> {
  const before = collect()
  const all = Promise.withResolvers<void>()
  let [asked, most] = [0, 0]
  const measure = () => {
    most = collect()
    all.resolve()
  }
  const onTurn = (turn: number) => {
    if (turn !== PLAN.turns) return undefined
    if (++asked === sessions) setTimeout(measure, PLAN.latency_ms)
    return all.promise
  }
  await crowd(sessions, { ...PLAN, latency_ms: 1, onTurn })
  return most - before
}

async function main([name = '', count = '1000', folder = '.']: readonly string[]): Promise<void> {
  const sessions = Number(count)
  const crowd = crowdOf(name, folder)
  for (let warmup = 0; warmup < 5; warmup++) await crowd(Math.min(sessions, 1000), { ...PLAN, latency_ms: 2 })
  collect()
  const stalls = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  stalls.enable()
  const wall_ms = await crowd(sessions, PLAN)
  stalls.disable()
  const stallMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  const report: CrowdReport = {
    wall_ms,
    rss_mb: process.resourceUsage().maxRSS / 1024,
    stall_p999_ms: stallMs(stalls.percentile(99.9)),
    stall_max_ms: stallMs(stalls.max),
    stall_samples: stalls.count,
    heap_kb: (await heapOf(crowd, sessions)) / 1024 / sessions,
  }
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

await main(process.argv.slice(2))
