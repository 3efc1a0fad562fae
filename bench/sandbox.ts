import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkspace } from '../src/tools/files/workspace.ts'
import { openSandbox } from '../src/tools/sandbox/open-sandbox.ts'
import type { Sandbox } from '../src/tools/sandbox/sandbox.ts'
import { formatLine } from './print.ts'
import { findFigure, measureMs, runRounds } from './rounds.ts'

/*
 * npm run bench:sandbox [-- FILES]: one command in the sandbox, with all guards, against a bare spawn of bash; and how the
 * time grows with the repositories in the workspace, each of which is protected by mounts.
 */

const FILES = Number(process.argv[2] ?? 20_000)
const ROUNDS = 15
const TARGET_MS = 150
const COMMAND = 'echo done'
const REPOSITORIES = [20, 100, 300]

function createSample(top: string): void {
  for (let index = 0; index < FILES; index += 1) {
    const folder = join(top, `packages/p${index % 200}/src/part${index % 10}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `file${index}.ts`), `export const value${index} = ${index}\n`)
  }
  const git = (...args: string[]) => execFileSync('git', ['-C', top, ...args], { stdio: 'pipe' })
  git('init', '--quiet')
  git('add', '--all')
  git('-c', 'user.name=Bench', '-c', 'user.email=bench@example.com', 'commit', '--quiet', '--message', 'Sample')
}

async function runIn(sandbox: Sandbox, command = COMMAND): Promise<void> {
  const { child, ended } = await sandbox.spawn({ command })
  child.stdout?.resume()
  child.stderr?.resume()
  const { code } = await ended
  if (code !== 0) throw new Error(`the command ended with ${code}`)
}

async function runBare(top: string): Promise<void> {
  const child = spawn('/bin/bash', ['--norc', '--noprofile', '-c', COMMAND], { cwd: top, stdio: 'ignore' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the command ended with ${code}`)
}

/** Median of three; also fails if one of the repositories is not protected. */
async function measureRepositories(top: string, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    mkdirSync(join(top, `repository-${index}/.git`), { recursive: true })
    writeFileSync(join(top, `repository-${index}/.git/HEAD`), 'ref: refs/heads/main\n')
  }
  const sandbox = openSandbox({ workspace: openWorkspace(top), sandbox: {}, hosts: [] })
  const command = 'for folder in *; do echo evil > $folder/.git/config; done 2>/dev/null; true'
  try {
    const figures = await runRounds([{ name: 'repositories', round: () => measureMs(() => runIn(sandbox, command)) }], {
      rounds: 3,
      warmups: 0,
    })
    const written = readdirSync(top).filter((name) => existsSync(join(top, name, '.git/config')))
    if (written.length > 0) throw new Error(`${written.length} of ${count} repositories are not protected`)
    console.log(formatLine({ label: `${count} repositories`, figure: findFigure(figures, 'repositories'), unit: 'ms' }))
  } finally {
    await sandbox.close()
  }
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-bench-sandbox-')))
const top = join(folder, 'project')
mkdirSync(top)
createSample(top)
const workspace = openWorkspace(top)
const sandbox = openSandbox({ workspace, sandbox: {}, hosts: [] })
if (sandbox.kind === 'none') throw new Error('there is no sandbox to measure; see `troupe doctor`')
try {
  const figures = await runRounds(
    [
      { name: 'sandbox', round: () => measureMs(() => runIn(sandbox)) },
      { name: 'bare spawn', round: () => measureMs(() => runBare(top)) },
    ],
    { rounds: ROUNDS, warmups: 2 },
  )
  const [guarded, bare] = [findFigure(figures, 'sandbox'), findFigure(figures, 'bare spawn')]
  const added = guarded.median - bare.median
  console.log(`one command in a repository of ${FILES} files`)
  console.log(formatLine({ label: 'bare spawn of bash', figure: bare, unit: 'ms' }))
  const target = { text: `≤ ${TARGET_MS} ms over the bare spawn`, met: added <= TARGET_MS }
  console.log(
    formatLine({
      label: 'in the sandbox, with all guards',
      figure: guarded,
      unit: 'ms',
      note: `+${added.toFixed(0)} ms`,
      target,
    }),
  )
  for (const count of REPOSITORIES) await measureRepositories(join(folder, `repositories-${count}`), count)
} finally {
  await sandbox.close()
  rmSync(folder, { recursive: true, force: true })
}
