import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTroupe } from '../src/runtime/troupe.ts'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import { benchAgent, WIDE_LIMITS } from './bench-engine.ts'
import { buildPackage } from './import.ts'
import { INSTRUCTION, planModel, SINGLE_TURN } from './plan.ts'
import type { Contender } from './rounds.ts'
import { findFigure, measureMs, runRounds } from './rounds.ts'

const PROGRAM = fileURLToPath(new URL('../dist/surfaces/cli/main.js', import.meta.url))
const AT_ONCE = 50

interface QueryStore {
  path: string
  runs: number
  /** The newest run. */
  run_id: string
}

async function fillStore(path: string, runs: number): Promise<QueryStore> {
  const model = planModel(SINGLE_TURN)
  const agents = [benchAgent([])]
  const troupe = await createTroupe({ store: path, durability: 'relaxed', model, agents, limits: WIDE_LIMITS })
  for (let started = 0; started < runs; started += AT_ONCE) {
    const batch = Array.from({ length: AT_ONCE }, () =>
      troupe.run('task', { agent: 'worker', instruction: INSTRUCTION }),
    )
    for (const { status } of await Promise.all(batch)) assertEqual(status, 'completed', 'a run of the store')
  }
  const [newest] = (await troupe.runs({ limit: 1 })).items
  assertEqual(newest?.status, 'completed', 'the newest run')
  await troupe.close()
  return { path, runs, run_id: newest?.run_id ?? '' }
}

/** The commands, each with a text that it has to print. */
function commandsOf({ run_id, runs }: QueryStore): Record<string, { args: string[]; shows: string }> {
  return {
    runs: { args: ['runs'], shows: run_id },
    show: { args: ['show', run_id], shows: run_id },
    cost: { args: ['cost'], shows: `… and ${runs - 20} more` },
    'cost --json': { args: ['cost', '--json'], shows: `"total","calls":${runs}` },
  }
}

function commandContender(store: QueryStore, command: string): Contender {
  const { args, shows } = commandsOf(store)[command] ?? { args: [], shows: '' }
  return {
    name: labelOf(command, store),
    round: () =>
      measureMs(async () => {
        const argv = [PROGRAM, ...args, '--store', store.path]
        const options = { cwd: join(store.path, '..'), encoding: 'utf8', stdio: 'pipe' } as const
        assertEqual(execFileSync(process.execPath, argv, options).includes(shows), true, `troupe ${command}`)
      }),
  }
}

function labelOf(command: string, { runs }: QueryStore): string {
  return `troupe ${command}, ${runs.toLocaleString('en-US')} runs`
}

/** What people wait for in a project with many runs: whole processes of the built package. */
export const queries: Bench = {
  name: 'queries',
  title: 'Commands on a store with ten times as many runs of one turn, from the start of the process to its end',
  async run({ quick, folder }) {
    buildPackage()
    const few = await fillStore(join(folder, 'few.db'), quick ? 100 : 1000)
    const many = await fillStore(join(folder, 'many.db'), few.runs * 10)
    const commands = Object.keys(commandsOf(few))
    const contenders = commands.flatMap((command) => [few, many].map((store) => commandContender(store, command)))
    const figures = await runRounds(contenders, { rounds: quick ? 3 : 9 })
    return commands.flatMap((command): Line[] => {
      const [small, large] = [findFigure(figures, labelOf(command, few)), findFigure(figures, labelOf(command, many))]
      const ratio = large.median / small.median
      const ratios = { 'a tenth': ratio }
      return [
        { label: labelOf(command, few), figure: small, unit: 'ms' },
        { label: labelOf(command, many), figure: large, unit: 'ms', ratios, target: atMost(ratio, 1.3, '×') },
      ]
    })
  },
}
