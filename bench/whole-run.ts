import { join } from 'node:path'
import { createTroupe } from '../src/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench } from './bench.ts'
import { mustEqual } from './bench.ts'
import { ANSWER, INSTRUCTION, PLAIN, planModel, planTool } from './plan.ts'
import type { Contender } from './rounds.ts'
import { clocked, takeTurns } from './rounds.ts'
import { agentWith, WIDE } from './stage.ts'
import { BARE, GENERATE, MEMORY, SQLITE, talkLines } from './talk.ts'

function runs(name: string, where: () => string, count: number): Contender {
  return {
    name,
    async round() {
      const store = where()
      const model = planModel(PLAIN)
      const troupe = await createTroupe({ store, model, agents: [agentWith([])], limits: WIDE })
      const ms = await clocked(async () => {
        for (let index = 0; index < count; index++) {
          const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
          mustEqual((output as { response?: string } | null)?.response, ANSWER, name)
        }
      })
      await troupe.close()
      return (ms * 1000) / count
    },
  }
}

function calls(name: string, talk: () => Promise<string>, count: number): Contender {
  return {
    name,
    async round() {
      const ms = await clocked(async () => {
        for (let index = 0; index < count; index++) mustEqual(await talk(), ANSWER, name)
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
    const sdk = sdkContender(PLAIN)
    const model = planModel(PLAIN)
    let files = 0
    const contenders = [
      calls(BARE, () => bareLoop(model, planTool(PLAIN)), count * 10),
      calls(GENERATE, () => sdk.generate(), count),
      runs(MEMORY, () => 'memory', count),
      runs(SQLITE, () => join(folder, `whole-${files++}.db`), count),
    ]
    return talkLines(await takeTurns(contenders, { rounds: quick ? 2 : 5 }))
  },
}
