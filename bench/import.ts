import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Bench, Line } from './bench.ts'
import { assertEqual, atMost } from './bench.ts'
import type { ImportReport } from './import-process.ts'
import { findFigure, mapFigure, runRounds, toFigure } from './rounds.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CORE = join(ROOT, 'dist', 'index.js')
const PROCESS = fileURLToPath(new URL('import-process.ts', import.meta.url))

/** The package as it is published: built if it is not there or older than its source. */
function build(): void {
  if (existsSync(CORE) && statSync(CORE).mtimeMs > newestModified(join(ROOT, 'src'))) return
  const from = Date.now()
  const { status } = spawnSync('npm', ['run', '-s', 'build'], { cwd: ROOT, stdio: 'inherit' })
  // Type errors elsewhere in a tree that is being worked on do not keep the compiler from writing the files.
  if (status !== 0 && !(existsSync(CORE) && statSync(CORE).mtimeMs >= from))
    throw new Error('the package does not build')
}

function newestModified(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Math.max(...files.map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs))
}

/** Starts a process that imports this, or nothing, and waits for its end. */
function timeImport(what: string | undefined): number {
  const code = what === undefined ? '' : `import ${JSON.stringify(pathToFileURL(what).href)}`
  const from = performance.now()
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { stdio: 'ignore' })
  const ms = performance.now() - from
  assertEqual(status, 0, `importing ${what ?? 'nothing'}`)
  return ms
}

function inspectImport(what: string | undefined): ImportReport {
  const args = [PROCESS, ...(what === undefined ? [] : [pathToFileURL(what).href])]
  const out = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return JSON.parse(out) as ImportReport
}

const BARE_NODE = 'bare Node'
const TROUPE = 'Node with troupe imported'
const SDK = 'Node with ai imported'

export const importTime: Bench = {
  name: 'import',
  title: 'Importing the built core: a process from start to end',
  async run({ quick }) {
    build()
    const sdk = fileURLToPath(import.meta.resolve('ai'))
    const contenders = [
      { name: BARE_NODE, round: async () => timeImport(undefined) },
      { name: TROUPE, round: async () => timeImport(CORE) },
      { name: SDK, round: async () => timeImport(sdk) },
    ]
    const figures = await runRounds(contenders, { rounds: quick ? 5 : 15, warmups: 2 })
    const bare = findFigure(figures, BARE_NODE)
    const over = (name: string) => mapFigure(findFigure(figures, name), (ms) => ms - bare.median)
    const [without, withCore] = [inspectImport(undefined), inspectImport(CORE)]
    assertEqual(withCore.sockets, without.sockets, 'sockets opened by the import')
    const rss = (withCore.rss_bytes - without.rss_bytes) / 1024 / 1024
    return [
      { what: BARE_NODE, figure: bare, unit: 'ms' },
      { what: TROUPE, figure: findFigure(figures, TROUPE), unit: 'ms' },
      { what: '  over bare Node', figure: over(TROUPE), unit: 'ms', aim: atMost(over(TROUPE).median, 60, 'ms') },
      { what: SDK, figure: findFigure(figures, SDK), unit: 'ms' },
      { what: '  over bare Node', figure: over(SDK), unit: 'ms' },
      { what: 'memory of the core', figure: toFigure([rss]), unit: 'MB', note: 'resident, over bare Node' },
      { what: 'sockets opened', figure: toFigure([withCore.sockets - without.sockets]), unit: '×' },
    ] satisfies Line[]
  },
}
