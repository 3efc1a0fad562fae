import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Figure, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import type { BenchEngine, StoreName } from './bench-engine.ts'
import { benchAgent, openBenchEngine, openStore } from './bench-engine.ts'
import type { ConversationPlan } from './plan.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, ratiosTo } from './rounds.ts'

/** Names of the contenders in the output; the first two are the baselines of the ratios. */
export const BARE = 'bare loop'
export const GENERATE = 'generateText'
export const STREAM = 'streamText'
export const MEMORY = 'Troupe in memory'
export const SQLITE = 'Troupe on SQLite'
export const BASELINES: readonly string[] = [BARE, GENERATE]

/** Contenders that hold `counts` conversations in sequence and check every response; a round returns µs per conversation. */
export function conversationContenders(
  plan: ConversationPlan,
  counts: { troupe: number; sdk: number; bare: number },
  folder: string,
): Contender[] {
  const tool = planTool(plan)
  const model = planModel(plan)
  const sdk = sdkContender(plan)
  return [
    sequentialContender(BARE, { count: counts.bare, expected: RESPONSE, respond: () => bareLoop(model, tool) }),
    sequentialContender(GENERATE, { count: counts.sdk, expected: RESPONSE, respond: () => sdk.generate() }),
    sequentialContender(STREAM, { count: counts.sdk, expected: RESPONSE, respond: () => sdk.stream() }),
    { name: MEMORY, round: () => troupeRound(plan, counts.troupe, { store: 'memory', folder }) },
    { name: SQLITE, round: () => troupeRound(plan, counts.troupe, { store: 'sqlite', folder }) },
  ]
}

interface Sequence {
  count: number
  expected: string
  respond(): Promise<string>
}

/** Repeats one call in sequence and checks every response; a round returns µs per call. */
export function sequentialContender(name: string, { count, expected, respond }: Sequence): Contender {
  return {
    name,
    async round() {
      const ms = await measureMs(async () => {
        for (let index = 0; index < count; index++) assertEqual(await respond(), expected, name)
      })
      return (ms * 1000) / count
    },
  }
}

/** Runs many sessions in one run, to measure sessions and turns without the cost of creating runs. */
async function troupeRound(
  plan: ConversationPlan,
  count: number,
  options: { store: StoreName; folder: string },
): Promise<number> {
  const benchEngine = openBenchEngine({
    store: await openStore(options.store, options.folder),
    model: planModel(plan),
    tools: plan.calls > 0 ? [planTool(plan)] : [],
  })
  const ms = await measureMs(() => benchEngine.run((context) => performAll(context, plan, count)))
  await benchEngine.close()
  return (ms * 1000) / count
}

type BenchContext = Parameters<Parameters<BenchEngine['run']>[0]>[0]

async function performAll(context: BenchContext, plan: ConversationPlan, count: number): Promise<void> {
  const agent = benchAgent(plan.calls > 0 ? [planTool(plan)] : [])
  for (let index = 0; index < count; index++) {
    const result = await context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` })
    assertEqual(result.text, RESPONSE, `session ${index}`)
  }
}

export function conversationLines(figures: ReadonlyMap<string, Figure>): Line[] {
  return [...figures.keys()].map((name) => ({
    label: name,
    figure: findFigure(figures, name),
    unit: 'µs',
    ratios: ratiosTo(figures, name, BASELINES),
  }))
}

/** Adds a target to the line with this label. */
export function withTarget(lines: Line[], label: string, target: NonNullable<Line['target']>): Line[] {
  return lines.map((line) => (line.label === label ? { ...line, target } : line))
}
