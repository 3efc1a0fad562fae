import { join } from 'node:path'
import { createTroupe } from '../src/runtime/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench } from './bench.ts'
import { assertEqual } from './bench.ts'
import { benchAgent, WIDE_LIMITS } from './bench-engine.ts'
import { BARE, conversationLines, GENERATE, MEMORY, SQLITE, sequentialContender } from './conversation-rounds.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { measureMs, runRounds } from './rounds.ts'

function runContender(name: string, createStore: () => string, count: number): Contender {
  return {
    name,
    async round() {
      const store = createStore()
      const model = planModel(SINGLE_TURN)
      const troupe = await createTroupe({ store, model, agents: [benchAgent([])], limits: WIDE_LIMITS })
      const ms = await measureMs(async () => {
        for (let index = 0; index < count; index++) {
          const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
          assertEqual((output as { response?: string } | null)?.response, RESPONSE, name)
        }
      })
      await troupe.close()
      return (ms * 1000) / count
    },
  }
}

/** The cost of `troupe.run` beyond its single turn: the run is created, leased, ended and read. */
export const wholeRun: Bench = {
  name: 'run',
  title: 'A whole run with one turn through troupe.run: created, leased, ended with a full sync, read back',
  async run({ quick, folder }) {
    const count = quick ? 50 : 200
    const sdk = sdkContender(SINGLE_TURN)
    const model = planModel(SINGLE_TURN)
    let files = 0
    const contenders = [
      sequentialContender(BARE, {
        count: count * 10,
        expected: RESPONSE,
        respond: () => bareLoop(model, planTool(SINGLE_TURN)),
      }),
      sequentialContender(GENERATE, { count, expected: RESPONSE, respond: () => sdk.generate() }),
      runContender(MEMORY, () => 'memory', count),
      runContender(SQLITE, () => join(folder, `whole-${files++}.db`), count),
    ]
    return conversationLines(await runRounds(contenders, { rounds: quick ? 2 : 5 }))
  },
}
