import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Bench, Line } from './bench.ts'
import { atMost } from './bench.ts'
import { MEMORY, SQLITE } from './conversation-rounds.ts'
import { buildPackage, PACKAGE_FILE } from './import.ts'
import { toFigure } from './rounds.ts'

const PROCESS = fileURLToPath(new URL('start-process.mjs', import.meta.url))

interface StartReport {
  /** Before the package was imported: the start of Node itself. */
  node_ms: number
  create_ms: number
  /** From the start of the process. */
  first_answer_ms: number
  /** Loaded by the import and `createTroupe`; 0 unless they were counted. */
  create_modules: number
  modules: number
}

function startProcess(store: string, ...flags: string[]): StartReport {
  const args = [PROCESS, pathToFileURL(PACKAGE_FILE).href, store, ...flags]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
}

function startLines(name: string, reports: readonly StartReport[], counted: StartReport): Line[] {
  const created = toFigure(reports.map(({ create_ms }) => create_ms))
  const answered = toFigure(reports.map(({ first_answer_ms }) => first_answer_ms))
  return [
    {
      label: `createTroupe, ${name}`,
      figure: created,
      unit: 'ms',
      note: `${counted.create_modules} modules`,
      target: atMost(created.median, 60, 'ms'),
    },
    {
      label: `first answer, ${name}`,
      figure: answered,
      unit: 'ms',
      note: `${counted.modules} modules`,
      target: atMost(answered.median, 150, 'ms'),
    },
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
    const counted = new Map(Object.entries(stores).map(([name, store]) => [name, startProcess(store(), 'count')]))
    const reports = new Map<string, StartReport[]>(Object.keys(stores).map((name) => [name, []]))
    for (let round = 0; round < rounds; round++)
      for (const [name, store] of Object.entries(stores)) reports.get(name)?.push(startProcess(store()))
    const all = [...reports.values()].flat()
    const bare: Line = { label: 'ideal: Node alone', figure: toFigure(all.map(({ node_ms }) => node_ms)), unit: 'ms' }
    const lines = [...counted].flatMap(([name, report]) => startLines(name, reports.get(name) ?? [], report))
    return [bare, ...lines]
  },
}
