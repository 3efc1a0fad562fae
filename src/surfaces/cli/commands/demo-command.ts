import { lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Troupe } from '../../../index.ts'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-view.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { BUILD_INPUT, buildRules } from '../demo/build-demo.ts'
import { CONSULT_REQUEST, consultRules } from '../demo/consult-demo.ts'
import { writeDemoProject } from '../demo/demo-project.ts'
import { STORE_REQUEST, storeRules } from '../demo/store-demo.ts'
import { TASK_REQUEST, taskRules } from '../demo/task-demo.ts'
import { TEAM_INPUT, teamRules } from '../demo/team-demo.ts'
import { VOTE_INPUT, voteRules } from '../demo/vote-demo.ts'
import { followRun } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { programName, setProgramName } from '../program-name.ts'
import { runTreeLines } from '../render/run-tree.ts'
import { withProgramName } from '../render/styled-line.ts'
import type { ServeOptions } from '../serve/serve-options.ts'

export type DemoOptions = ServeOptions & { serve?: boolean }

const RULES = [...storeRules, ...taskRules, ...voteRules, ...teamRules, ...consultRules, ...buildRules]

/**
 * Runs scripted examples offline: one in the terminal, whose store stays for `show`, or all others with the page, in a folder that is deleted.
 */
export async function demoCommand(cli: Cli<DemoOptions>): Promise<number> {
  const { terminal, options } = cli
  const isServed = options.serve === true || options.open === true
  const folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
  const script = join(folder, 'demo-model')
  const demo = { ...cli, options: { ...options, model: `scripted:${script}` } }
  const label = isServed ? `${LABEL} Questions wait for you in the inbox of the page.` : LABEL
  try {
    await writeFile(script, JSON.stringify({ rules: RULES, otherwise: 'error' }))
    if (!options.json)
      for (const line of wrapText(label, terminal.err.width)) terminal.note(terminal.err.paint('yellow', line))
    return await (isServed ? serveRuns(demo, folder) : runInTerminal(demo, options.store ?? (await demoStore())))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A short name, so that the command which is printed fits a line. Temporary folders are shared: the name may be taken by another user. */
async function demoStore(): Promise<string> {
  const folder = join(tmpdir(), 'troupe-demo')
  await mkdir(folder, { mode: 0o700 }).catch(() => {})
  const found = await lstat(folder)
  const isOwn = found.isDirectory() && (found.uid === userInfo().uid || process.platform === 'win32')
  return isOwn ? folder : mkdtemp(`${folder}-`)
}

const LABEL = 'SCRIPTED DEMO: all responses come from a script; no model, API key or network is used.'

function runInTerminal(demo: Cli, store: string): Promise<number> {
  const cli = { ...demo, options: { ...demo.options, store } }
  const { terminal, options } = cli
  setProgramName([terminal.out, terminal.err], options)
  return withTroupe(cli, 'new', async (troupe) => {
    const handle = await troupe.stream('task', { agent: 'default', instruction: STORE_REQUEST })
    const code = await followRun(cli, troupe, { handle })
    if (options.json) return code
    const events = await troupe.events(handle.run_id).all()
    const view = runViewFrom(events, await loadPatternViews(await troupe.patterns()))
    const lines = runTreeLines(view, { style: terminal.out, now: Date.now(), live: false })
    terminal.print(['', ...lines].join('\n'))
    if (options.quiet) return code
    const inspect = withProgramName(terminal.err, `inspect it: troupe show ${handle.run_id}`)
    const start = `start your own run: ${programName(process.env)} run task --help`
    for (const text of ['', inspect, start])
      for (const line of wrapText(text, terminal.err.width, 2)) terminal.note(line)
    return code
  })
}

const USER_VARIABLES = ['TROUPE_MODEL_FAST', 'TROUPE_MODEL_GENERAL', 'TROUPE_MODEL_REASONING', 'TROUPE_AGENTS']

/** Serves the page with runs at work. The project is in the folder, too. */
async function serveRuns({ terminal, options }: Cli<DemoOptions>, folder: string): Promise<number> {
  const project = join(folder, 'project')
  const { hasGit } = await writeDemoProject(project)
  // Variables of the user for roles and agents come before the script.
  for (const name of USER_VARIABLES) delete process.env[name]
  // Worktrees are deleted with the rest.
  process.env.XDG_STATE_HOME = join(folder, 'state')
  process.env.TROUPE_PRICES = await writePrices(folder)
  const { serveCommand } = await import('./serve-command.ts')
  const demo = {
    ...{ ...options, store: join(folder, 'store'), workspace: project, tools: true },
    ...{ allow: ['Write(src/**)', 'Edit(src/**)', 'Write(docs/**)'], ask: ['Edit(package.json)'] },
  }
  return serveCommand({ terminal, options: demo, executes: true, usesProjectAgents: false }, (troupe) =>
    startRuns(troupe, hasGit),
  )
}

/** A price for the script, so that cost is shown. */
async function writePrices(folder: string): Promise<string> {
  const file = join(folder, 'prices.json')
  const usd_per_million = { input: 3, output: 15, cache_read: 0.3 }
  const prices = [{ model: 'scripted:*', from: '2026-01-01', usd_per_million }]
  await writeFile(file, JSON.stringify({ updated: '2026-01-01', prices }))
  return file
}

async function startRuns(troupe: Troupe, hasGit: boolean): Promise<void> {
  await troupe.stream('team', TEAM_INPUT as never)
  await troupe.stream('task', { agent: 'default', instruction: CONSULT_REQUEST })
  await troupe.stream('collaborate', VOTE_INPUT as never)
  if (hasGit) await troupe.stream('build', BUILD_INPUT)
  await troupe.stream('task', { agent: 'default', instruction: TASK_REQUEST })
}
