import { join } from 'node:path'
import { createTroupe } from '../src/runtime/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench } from './bench.ts'
import { assertEqual } from './bench.ts'
import { benchAgent, WIDE_LIMITS } from './bench-engine.ts'
import { BARE, conversationLines, GENERATE, MEMORY, SQLITE } from './conversation-rounds.ts'
import { ANSWER, INSTRUCTION, planModel, planTool, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { measureMs, runRounds } from './rounds.ts'

function runContender(name: string, where: () => string, count: number): Contender {
  return {
    name,
    async round() {
      const store = where()
      const model = planModel(SINGLE_TURN)
      const troupe = await createTroupe({ store, model, agents: [benchAgent([])], limits: WIDE_LIMITS })
      const ms = await measureMs(async () => {
        for (let index = 0; index < count; index++) {
          const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
          assertEqual((output as { response?: string } | null)?.response, ANSWER, name)
        }
      })
      await troupe.close()
      return (ms * 1000) / count
    },
  }
}

function callContender(name: string, talk: () => Promise<string>, count: number): Contender {
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

/** The public way in, made, leased, ended and read back: what one `troupe.run` costs beyond its one turn. */
export const wholeRun: Bench = {
  name: 'run',
  title: 'A whole run of one turn through troupe.run: made, leased, ended with full sync, read back',
  async run({ quick, folder }) {
    const count = quick ? 50 : 200
    const sdk = sdkContender(SINGLE_TURN)
    const model = planModel(SINGLE_TURN)
    let files = 0
    const contenders = [
      callContender(BARE, () => bareLoop(model, planTool(SINGLE_TURN)), count * 10),
      callContender(GENERATE, () => sdk.generate(), count),
      runContender(MEMORY, () => 'memory', count),
      runContender(SQLITE, () => join(folder, `whole-${files++}.db`), count),
    ]
    return conversationLines(await runRounds(contenders, { rounds: quick ? 2 : 5 }))
  },
}
