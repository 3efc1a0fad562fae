import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { StoreName } from './bench-engine.ts'
import { benchAgent, openBenchEngine, openStore } from './bench-engine.ts'
import { BARE, BASELINES, GENERATE, MEMORY, SQLITE } from './conversation-rounds.ts'
import { ANSWER, INSTRUCTION, planModel, planTool, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { mapFigure, measureMs, ratiosTo, runRounds, toFigure } from './rounds.ts'

const WIDTH = 50

/** The middle of several fan-outs in a row. */
async function medianOf(repeats: number, once: (repeat: number) => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) times.push(await once(repeat))
  return toFigure(times).median
}

function parallelContender(name: string, repeats: number, talk: () => Promise<string>): Contender {
  return {
    name,
    round: () =>
      medianOf(repeats, () =>
        measureMs(async () => {
          const answers = await Promise.all(Array.from({ length: WIDTH }, talk))
          for (const answer of answers) assertEqual(answer, ANSWER, name)
        }),
      ),
  }
}

function troupeContender(
  name: string,
  store: StoreName,
  repeats: number,
  from: { latency_ms: number; folder: string },
): Contender {
  const items = Array.from({ length: WIDTH }, (_, index) => index)
  return {
    name,
    async round() {
      const model = planModel({ ...SINGLE_TURN, latency_ms: from.latency_ms })
      const stage = openBenchEngine({ store: await openStore(store, from.folder), model })
      let ms = 0
      await stage.run(async (context) => {
        ms = await medianOf(repeats, (repeat) =>
          measureMs(async () => {
            const results = await context.parallel(items, WIDTH, (index) =>
              context.perform(benchAgent([]), { instruction: INSTRUCTION }, { key: `fan/${repeat}/${index}` }),
            )
            for (const result of results) assertEqual(result.ok && result.value.text, ANSWER, name)
          }),
        )
      })
      await stage.close()
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
    troupeContender(MEMORY, 'memory', repeats, { latency_ms, folder }),
    troupeContender(SQLITE, 'sqlite', repeats, { latency_ms, folder }),
  ]
  const whole = await runRounds(contenders, { rounds: quick ? 2 : 7 })
  const over = new Map([...whole].map(([name, figure]) => [name, mapFigure(figure, (ms) => ms - latency_ms)]))
  return [...over].map(([name, figure]) => {
    const line: Line = { what: name, figure, unit: 'ms', times: ratiosTo(over, name, BASELINES) }
    const ours = latency_ms > 0 && (name === MEMORY || name === SQLITE)
    return ours ? { ...line, aim: atMost(figure.median, 4, 'ms') } : line
  })
}

export const fanOutNoLatency: Bench = {
  name: 'fan-out-0',
  title: 'Fan-out to 50 sessions in one run, the model answers at once',
  run: (options) => fanOut(0, options),
}

export const fanOutWithLatency: Bench = {
  name: 'fan-out-50',
  title: 'Fan-out to 50 sessions in one run at 50 ms model latency: time over the ideal 50 ms',
  run: (options) => fanOut(50, options),
}
