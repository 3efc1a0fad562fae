import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Figure, Line } from './bench.ts'
import { assertEqual } from './bench.ts'
import type { BenchEngine, StoreName } from './bench-engine.ts'
import { benchAgent, openBenchEngine, openStore } from './bench-engine.ts'
import type { ConversationPlan } from './plan.ts'
import { ANSWER, INSTRUCTION, planModel, planTool } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, ratiosTo } from './rounds.ts'

/** The names under which contenders stand in the output; ratios are given to the first two. */
export const BARE = 'bare loop'
export const GENERATE = 'generateText'
export const STREAM = 'streamText'
export const MEMORY = 'Troupe in memory'
export const SQLITE = 'Troupe on SQLite'
export const BASELINES: readonly string[] = [BARE, GENERATE]

/** One conversation after the other, `count` times; every answer is checked. A round costs its µs per conversation. */
export function conversationContenders(
  plan: ConversationPlan,
  counts: { ours: number; sdk: number; bare: number },
  folder: string,
): Contender[] {
  const tool = planTool(plan)
  const model = planModel(plan)
  const sdk = sdkContender(plan)
  return [
    conversationContender(BARE, counts.bare, () => bareLoop(model, tool)),
    conversationContender(GENERATE, counts.sdk, () => sdk.generate()),
    conversationContender(STREAM, counts.sdk, () => sdk.stream()),
    { name: MEMORY, round: () => troupeRound(plan, counts.ours, { store: 'memory', folder }) },
    { name: SQLITE, round: () => troupeRound(plan, counts.ours, { store: 'sqlite', folder }) },
  ]
}

function conversationContender(name: string, count: number, talk: () => Promise<string>): Contender {
  return {
    name,
    async round() {
      const ms = await measureMs(async () => {
        for (let index = 0; index < count; index++) assertEqual(await talk(), ANSWER, name)
      })
      return (ms * 1000) / count
    },
  }
}

/** Many sessions in one run, so that a session and its turns are measured and not the making of runs. */
async function troupeRound(
  plan: ConversationPlan,
  count: number,
  where: { store: StoreName; folder: string },
): Promise<number> {
  const stage = openBenchEngine({
    store: await openStore(where.store, where.folder),
    model: planModel(plan),
    tools: plan.calls > 0 ? [planTool(plan)] : [],
  })
  const ms = await measureMs(() => stage.run((context) => performAll(context, plan, count)))
  await stage.close()
  return (ms * 1000) / count
}

type BenchContext = Parameters<Parameters<BenchEngine['run']>[0]>[0]

async function performAll(context: BenchContext, plan: ConversationPlan, count: number): Promise<void> {
  const agent = benchAgent(plan.calls > 0 ? [planTool(plan)] : [])
  for (let index = 0; index < count; index++) {
    const result = await context.perform(agent, { instruction: INSTRUCTION }, { key: `s/${index}` })
    assertEqual(result.text, ANSWER, `session ${index}`)
  }
}

export function conversationLines(figures: ReadonlyMap<string, Figure>): Line[] {
  return [...figures.keys()].map((name) => ({
    what: name,
    figure: findFigure(figures, name),
    unit: 'µs',
    times: ratiosTo(figures, name, BASELINES),
  }))
}

/** The line of this name, with an aim added. */
export function withAim(lines: Line[], what: string, aim: NonNullable<Line['aim']>): Line[] {
  return lines.map((line) => (line.what === what ? { ...line, aim } : line))
}
