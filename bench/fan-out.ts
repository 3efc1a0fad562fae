import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { StoreName } from './bench-engine.ts'
import { benchAgent, openBenchEngine, openStore } from './bench-engine.ts'
import { BARE, BASELINES, GENERATE, MEMORY, SQLITE } from './conversation-rounds.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { mapFigure, measureMs, ratiosTo, runRounds, toFigure } from './rounds.ts'

const WIDTH = 50

/** Median of several fan-outs in sequence. */
async function measureMedian(repeats: number, once: (repeat: number) => Promise<number>): Promise<number> {
  const ratios: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) ratios.push(await once(repeat))
  return toFigure(ratios).median
}

function parallelContender(name: string, repeats: number, respond: () => Promise<string>): Contender {
  return {
    name,
    round: () =>
      measureMedian(repeats, () =>
        measureMs(async () => {
          const answers = await Promise.all(Array.from({ length: WIDTH }, respond))
          for (const answer of answers) assertEqual(answer, RESPONSE, name)
        }),
      ),
  }
}

function troupeContender(
  name: string,
  store: StoreName,
  { repeats, latency_ms, folder }: { repeats: number; latency_ms: number; folder: string },
): Contender {
  const items = Array.from({ length: WIDTH }, (_, index) => index)
  return {
    name,
    async round() {
      const model = planModel({ ...SINGLE_TURN, latency_ms })
      const benchEngine = openBenchEngine({ store: await openStore(store, folder), model })
      let ms = 0
      await benchEngine.run(async (context) => {
        ms = await measureMedian(repeats, (repeat) =>
          measureMs(async () => {
            const results = await context.parallel(items, WIDTH, (index) =>
              context.perform(benchAgent([]), { instruction: INSTRUCTION }, { key: `fan/${repeat}/${index}` }),
            )
            for (const result of results) assertEqual(result.ok && result.value.text, RESPONSE, name)
          }),
        )
      })
      await benchEngine.close()
      return ms
    },
  }
}

async function fanOut(latency_ms: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const plan = { ...SINGLE_TURN, latency_ms }
  const repeats = latency_ms === 0 ? 20 : quick ? 3 : 8
  const sdk = sdkContender(plan)
  const model = planModel(plan)
  const contenders = [
    parallelContender(BARE, repeats, () => bareLoop(model, planTool(plan))),
    parallelContender(GENERATE, repeats, () => sdk.generate()),
    troupeContender(MEMORY, 'memory', { repeats, latency_ms, folder }),
    troupeContender(SQLITE, 'sqlite', { repeats, latency_ms, folder }),
  ]
  const totals = await runRounds(contenders, { rounds: quick ? 2 : 7 })
  const overhead = new Map([...totals].map(([name, figure]) => [name, mapFigure(figure, (ms) => ms - latency_ms)]))
  return [...overhead].map(([name, figure]) => {
    const line: Line = { label: name, figure, unit: 'ms', ratios: ratiosTo(overhead, name, BASELINES) }
    const hasTarget = latency_ms > 0 && (name === MEMORY || name === SQLITE)
    return hasTarget ? { ...line, target: atMost(figure.median, 4, 'ms') } : line
  })
}

export const fanOutNoLatency: Bench = {
  name: 'fan-out-0',
  title: 'Fan-out to 50 sessions in one run, no model latency',
  run: (options) => fanOut(0, options),
}

export const fanOutWithLatency: Bench = {
  name: 'fan-out-50',
  title: 'Fan-out to 50 sessions in one run at 50 ms model latency: overhead over the ideal 50 ms',
  run: (options) => fanOut(50, options),
}
