import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench, BenchOptions, Line } from './bench.ts'
import { atMost, mustEqual } from './bench.ts'
import { ANSWER, INSTRUCTION, PLAIN, planModel, planTool } from './plan.ts'
import type { Contender } from './rounds.ts'
import { clocked, figureOf, mapFigure, takeTurns, timesOf } from './rounds.ts'
import type { StoreName } from './stage.ts'
import { agentWith, openStage, openStore } from './stage.ts'
import { BARE, GENERATE, MEMORY, RIVALS, SQLITE } from './talk.ts'

const WIDTH = 50

/** The middle of several fan-outs in a row. */
async function middleOf(repeats: number, once: (repeat: number) => Promise<number>): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < repeats; repeat++) times.push(await once(repeat))
  return figureOf(times).median
}

function atOnce(name: string, repeats: number, talk: () => Promise<string>): Contender {
  return {
    name,
    round: () =>
      middleOf(repeats, () =>
        clocked(async () => {
          const answers = await Promise.all(Array.from({ length: WIDTH }, talk))
          for (const answer of answers) mustEqual(answer, ANSWER, name)
        }),
      ),
  }
}

function troupe(
  name: string,
  store: StoreName,
  repeats: number,
  from: { latency_ms: number; folder: string },
): Contender {
  const items = Array.from({ length: WIDTH }, (_, index) => index)
  return {
    name,
    async round() {
      const model = planModel({ ...PLAIN, latency_ms: from.latency_ms })
      const stage = openStage({ store: await openStore(store, from.folder), model })
      let ms = 0
      await stage.play(async (context) => {
        ms = await middleOf(repeats, (repeat) =>
          clocked(async () => {
            const results = await context.parallel(items, WIDTH, (index) =>
              context.perform(agentWith([]), { instruction: INSTRUCTION }, { key: `fan/${repeat}/${index}` }),
            )
            for (const result of results) mustEqual(result.ok && result.value.text, ANSWER, name)
          }),
        )
      })
      await stage.close()
      return ms
    },
  }
}

async function fanOut(latency_ms: number, { quick, folder }: BenchOptions): Promise<Line[]> {
  const plan = { ...PLAIN, latency_ms }
  const repeats = latency_ms === 0 ? 20 : quick ? 3 : 8
  const sdk = sdkContender(plan)
  const model = planModel(plan)
  const contenders = [
    atOnce(BARE, repeats, () => bareLoop(model, planTool(plan))),
    atOnce(GENERATE, repeats, () => sdk.generate()),
    troupe(MEMORY, 'memory', repeats, { latency_ms, folder }),
    troupe(SQLITE, 'sqlite', repeats, { latency_ms, folder }),
  ]
  const whole = await takeTurns(contenders, { rounds: quick ? 2 : 7 })
  const over = new Map([...whole].map(([name, figure]) => [name, mapFigure(figure, (ms) => ms - latency_ms)]))
  return [...over].map(([name, figure]) => {
    const line: Line = { what: name, figure, unit: 'ms', times: timesOf(over, name, RIVALS) }
    const ours = latency_ms > 0 && (name === MEMORY || name === SQLITE)
    return ours ? { ...line, aim: atMost(figure.median, 4, 'ms') } : line
  })
}

export const fanOutNow: Bench = {
  name: 'fan-out-0',
  title: 'Fan-out to 50 sessions in one run, the model answers at once',
  run: (options) => fanOut(0, options),
}

export const fanOutLater: Bench = {
  name: 'fan-out-50',
  title: 'Fan-out to 50 sessions in one run at 50 ms model latency: time over the ideal 50 ms',
  run: (options) => fanOut(50, options),
}
