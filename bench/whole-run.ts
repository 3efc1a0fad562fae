import { join } from 'node:path'
import { createTroupe } from '../src/runtime/troupe.ts'
import { sdkContender } from './ai-sdk.ts'
import { bareLoop } from './bare-loop.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import { benchAgent } from './bench-engine.ts'
import { BARE, conversationLines, GENERATE, MEMORY, SQLITE, sequentialContender } from './conversation-rounds.ts'
import { INSTRUCTION, planModel, planTool, RESPONSE, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { measureMs, runRounds } from './rounds.ts'

const RELAXED = `${SQLITE}, durability relaxed`
/** The write-ahead log of a new file grows with each run; that of a store in use has its length. */
const IN_USE = ', a store in use'
/** In µs. */
const TARGETS: Readonly<Record<string, number>> = {
  [MEMORY]: 180,
  [SQLITE]: 600,
  [SQLITE + IN_USE]: 600,
  [RELAXED]: 250,
  [RELAXED + IN_USE]: 250,
}

interface RunSeries {
  store: () => string
  durability?: 'relaxed'
  /** Runs in the store before the first one that is measured. */
  earlier?: number
  count: number
}

function runContender(name: string, { store: createStore, count, earlier = 0, ...storage }: RunSeries): Contender {
  return {
    name,
    async round() {
      const store = createStore()
      const model = planModel(SINGLE_TURN)
      const troupe = await createTroupe({ store, model, agents: [benchAgent([])], ...storage })
      const execute = async (runs: number) => {
        for (let index = 0; index < runs; index++) {
          const { output } = await troupe.run('task', { agent: 'worker', instruction: INSTRUCTION })
          assertEqual((output as { response?: string } | null)?.response, RESPONSE, name)
        }
      }
      await execute(earlier)
      const ms = await measureMs(() => execute(count))
      await troupe.close()
      return (ms * 1000) / count
    },
  }
}

/** The cost of `troupe.run` beyond its single turn: the run is created, leased, ended and read. */
export const wholeRun: Bench = {
  name: 'run',
  title: 'A whole run with one turn through troupe.run: created, leased, ended with a full sync',
  async run({ quick, folder }) {
    const count = quick ? 50 : 200
    const inUse = { store: () => createFile(), earlier: quick ? 50 : 400, count }
    const sdk = sdkContender(SINGLE_TURN)
    const model = planModel(SINGLE_TURN)
    let files = 0
    const createFile = () => join(folder, `whole-${files++}.db`)
    const contenders = [
      sequentialContender(BARE, {
        count: count * 10,
        expected: RESPONSE,
        respond: () => bareLoop(model, planTool(SINGLE_TURN)),
      }),
      sequentialContender(GENERATE, { count, expected: RESPONSE, respond: () => sdk.generate() }),
      runContender(MEMORY, { store: () => 'memory', count }),
      runContender(SQLITE, { store: createFile, count }),
      runContender(RELAXED, { store: createFile, durability: 'relaxed', count }),
      runContender(SQLITE + IN_USE, inUse),
      runContender(RELAXED + IN_USE, { ...inUse, durability: 'relaxed' }),
    ]
    const lines = conversationLines(await runRounds(contenders, { rounds: quick ? 2 : 5 }))
    return lines.map((line): Line => {
      const target = TARGETS[line.label]
      return target === undefined || !line.figure ? line : { ...line, target: atMost(line.figure.median, target, 'µs') }
    })
  },
}
