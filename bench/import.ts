import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { ImportReport } from './import-process.ts'
import { findFigure, mapFigure, runRounds, toFigure } from './rounds.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const PACKAGE_FILE = join(ROOT, 'dist', 'index.js')
const PROCESS = fileURLToPath(new URL('import-process.ts', import.meta.url))

/** Builds the package unless the build is newer than the source. */
export function buildPackage(): void {
  if (existsSync(PACKAGE_FILE) && statSync(PACKAGE_FILE).mtimeMs > newestModified(join(ROOT, 'src'))) return
  const start = Date.now()
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' })
  // The compiler emits files even if the working tree has type errors elsewhere.
  if (status !== 0 && !(existsSync(PACKAGE_FILE) && statSync(PACKAGE_FILE).mtimeMs >= start))
    throw new Error('`npm run build` failed')
}

function newestModified(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Math.max(...files.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs))
}

/** Measures a process that imports a file, or nothing, from start to exit. */
function timeImport(file: string | undefined): number {
  const code = file === undefined ? '' : `import ${JSON.stringify(pathToFileURL(file).href)}`
  const start = performance.now()
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
  const ms = performance.now() - start
  assertEqual(status, 0, `importing ${file ?? 'nothing'}`)
  return ms
}

function inspectImport(file: string | undefined): ImportReport {
  const args = [PROCESS, ...(file === undefined ? [] : [pathToFileURL(file).href])]
  const out = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return JSON.parse(out) as ImportReport
}

const BARE_NODE = 'bare Node'
const TROUPE = 'Node with troupe imported'
const SDK = 'Node with ai imported'

export const importTime: Bench = {
  name: 'import',
  title: 'Importing the built package: a process from start to exit',
  async run({ quick }) {
    buildPackage()
    const sdk = fileURLToPath(import.meta.resolve('ai'))
    const contenders = [
      { name: BARE_NODE, round: async () => timeImport(undefined) },
      { name: TROUPE, round: async () => timeImport(PACKAGE_FILE) },
      { name: SDK, round: async () => timeImport(sdk) },
    ]
    const figures = await runRounds(contenders, { rounds: quick ? 5 : 15, warmups: 2 })
    const bare = findFigure(figures, BARE_NODE)
    const overhead = (name: string) => mapFigure(findFigure(figures, name), (ms) => ms - bare.median)
    const [without, withCore] = [inspectImport(undefined), inspectImport(PACKAGE_FILE)]
    assertEqual(withCore.sockets, without.sockets, 'sockets opened by the import')
    const rss = (withCore.rss_bytes - without.rss_bytes) / 1024 / 1024
    return [
      { label: BARE_NODE, figure: bare, unit: 'ms' },
      { label: TROUPE, figure: findFigure(figures, TROUPE), unit: 'ms' },
      {
        label: '  over bare Node',
        figure: overhead(TROUPE),
        unit: 'ms',
        target: atMost(overhead(TROUPE).median, 60, 'ms'),
      },
      { label: SDK, figure: findFigure(figures, SDK), unit: 'ms' },
      { label: '  over bare Node', figure: overhead(SDK), unit: 'ms' },
      { label: 'memory of the package', figure: toFigure([rss]), unit: 'MB', note: 'resident, over bare Node' },
      { label: 'sockets opened', figure: toFigure([withCore.sockets - without.sockets]), unit: '×' },
    ] satisfies Line[]
  },
}
