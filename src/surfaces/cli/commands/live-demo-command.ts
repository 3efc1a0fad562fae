import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Troupe } from '../../../index.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import type { ServeOptions } from '../serve/serve-options.ts'
import { LIVE_DEMO_FILES, LIVE_DEMO_REQUEST, LIVE_DEMO_VOTE, liveDemoScript } from './live-demo-script.ts'

/** Serves the page with scripted runs at work, offline. The project and the store are a temporary folder, deleted at the end. */
export async function liveDemoCommand(cli: Cli<ServeOptions>): Promise<number> {
  const { terminal, options } = cli
  const folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
  const project = join(folder, 'project')
  try {
    for (const [name, text] of Object.entries(LIVE_DEMO_FILES)) {
      await mkdir(dirname(join(project, name)), { recursive: true })
      await writeFile(join(project, name), text)
    }
    const script = join(folder, 'script.json')
    await writeFile(script, JSON.stringify(liveDemoScript))
    if (!options.json)
      for (const line of wrapText(LABEL, terminal.err.width)) terminal.note(terminal.err.paint('yellow', line))
    // Variables of the user for roles and agents come before the script.
    for (const name of USER_VARIABLES) delete process.env[name]
    const { serveCommand } = await import('./serve-command.ts')
    const demo = {
      ...{ ...options, model: `scripted:${script}`, store: join(folder, 'store'), workspace: project, tools: true },
      ...{ allow: ['Write(src/**)'], ask: ['Edit(package.json)'] },
    }
    return await serveCommand({ terminal, options: demo, executes: true, usesProjectAgents: false }, startRuns)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const USER_VARIABLES = ['TROUPE_MODEL_FAST', 'TROUPE_MODEL_GENERAL', 'TROUPE_MODEL_REASONING', 'TROUPE_AGENTS']
const LABEL =
  'SCRIPTED DEMO: all responses come from a script; no model, API key or network is used. One question waits for you in the inbox of the page.'

async function startRuns(troupe: Troupe): Promise<void> {
  await troupe.stream('task', { agent: 'default', instruction: LIVE_DEMO_REQUEST })
  await troupe.stream('collaborate', LIVE_DEMO_VOTE as never)
}
