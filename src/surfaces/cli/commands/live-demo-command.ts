import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Troupe } from '../../../index.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { BUILD_INPUT, buildRules } from '../live-demo/build-demo.ts'
import { CONSULT_REQUEST, consultRules } from '../live-demo/consult-demo.ts'
import { writeDemoProject } from '../live-demo/demo-project.ts'
import { TASK_REQUEST, taskRules } from '../live-demo/task-demo.ts'
import { TEAM_INPUT, teamRules } from '../live-demo/team-demo.ts'
import { VOTE_INPUT, voteRules } from '../live-demo/vote-demo.ts'
import type { ServeOptions } from '../serve/serve-options.ts'

/** Serves the page with scripted runs at work, offline. The project and the store are a temporary folder, deleted at the end. */
export async function liveDemoCommand(cli: Cli<ServeOptions>): Promise<number> {
  const { terminal, options } = cli
  const folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
  const project = join(folder, 'project')
  try {
    const { hasGit } = await writeDemoProject(project)
    const script = join(folder, 'demo-model')
    await writeFile(script, JSON.stringify({ rules: RULES, otherwise: 'error' }))
    if (!options.json)
      for (const line of wrapText(LABEL, terminal.err.width)) terminal.note(terminal.err.paint('yellow', line))
    // Variables of the user for roles and agents come before the script.
    for (const name of USER_VARIABLES) delete process.env[name]
    // Worktrees are deleted with the rest.
    process.env.XDG_STATE_HOME = join(folder, 'state')
    process.env.TROUPE_PRICES = await writePrices(folder)
    const { serveCommand } = await import('./serve-command.ts')
    const demo = {
      ...{ ...options, model: `scripted:${script}`, store: join(folder, 'store'), workspace: project, tools: true },
      ...{ allow: ['Write(src/**)', 'Edit(src/**)', 'Write(docs/**)'], ask: ['Edit(package.json)'] },
    }
    return await serveCommand({ terminal, options: demo, executes: true, usesProjectAgents: false }, (troupe) =>
      startRuns(troupe, hasGit),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const USER_VARIABLES = ['TROUPE_MODEL_FAST', 'TROUPE_MODEL_GENERAL', 'TROUPE_MODEL_REASONING', 'TROUPE_AGENTS']
/** A price for the script, so that cost is shown. */
async function writePrices(folder: string): Promise<string> {
  const file = join(folder, 'prices.json')
  const usd_per_million = { input: 3, output: 15, cache_read: 0.3 }
  const prices = [{ model: 'scripted:*', from: '2026-01-01', usd_per_million }]
  await writeFile(file, JSON.stringify({ updated: '2026-01-01', prices }))
  return file
}

const RULES = [...taskRules, ...voteRules, ...teamRules, ...consultRules, ...buildRules]
const LABEL =
  'SCRIPTED DEMO: all responses come from a script; no model, API key or network is used. Questions wait for you in the inbox of the page.'

async function startRuns(troupe: Troupe, hasGit: boolean): Promise<void> {
  await troupe.stream('team', TEAM_INPUT as never)
  await troupe.stream('task', { agent: 'default', instruction: CONSULT_REQUEST })
  await troupe.stream('collaborate', VOTE_INPUT as never)
  if (hasGit) await troupe.stream('build', BUILD_INPUT)
  await troupe.stream('task', { agent: 'default', instruction: TASK_REQUEST })
}
