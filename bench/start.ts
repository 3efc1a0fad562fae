import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Bench, Line } from './bench.ts'
import { atMost } from './bench.ts'
import { MEMORY, SQLITE } from './conversation-rounds.ts'
import { buildPackage, PACKAGE_FILE } from './import.ts'
import { toFigure } from './rounds.ts'
import type { StartReport } from './start-process.ts'

const PROCESS = fileURLToPath(new URL('start-process.ts', import.meta.url))

function startProcess(store: string): StartReport {
  const args = [PROCESS, pathToFileURL(PACKAGE_FILE).href, store]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
}

function startLines(name: string, reports: readonly StartReport[]): Line[] {
  const created = toFigure(reports.map(({ create_ms }) => create_ms))
  const answered = toFigure(reports.map(({ first_answer_ms }) => first_answer_ms))
  const modules = `${reports[0]?.modules ?? 0} modules`
  return [
    {
      label: `createTroupe, ${name}`,
      figure: created,
      unit: 'ms',
      note: modules,
      target: atMost(created.median, 60, 'ms'),
    },
    { label: `first answer, ${name}`, figure: answered, unit: 'ms', target: atMost(answered.median, 150, 'ms') },
  ]
}

/** What a short-lived process pays: a command, a serverless function. */
export const start: Bench = {
  name: 'start',
  title: 'A fresh process with the built package: createTroupe, and its first answer since the start of the process',
  async run({ quick, folder }) {
    buildPackage()
    const rounds = quick ? 3 : 15
    const stores = { [MEMORY]: () => 'memory', [SQLITE]: () => join(folder, `${randomBytes(4).toString('hex')}.db`) }
    const reports = new Map<string, StartReport[]>(Object.keys(stores).map((name) => [name, []]))
    for (let round = 0; round < rounds; round++)
      for (const [name, store] of Object.entries(stores)) reports.get(name)?.push(startProcess(store()))
    const all = [...reports.values()].flat()
    const bare: Line = { label: 'ideal: Node alone', figure: toFigure(all.map(({ node_ms }) => node_ms)), unit: 'ms' }
    return [bare, ...[...reports].flatMap(([name, measured]) => startLines(name, measured))]
  },
}
