import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-reducer.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { followRun } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { programName } from '../program-name.ts'
import { runTreeLines } from '../render/run-tree.ts'
import { DEMO_INSTRUCTION, demoScript } from './demo-script.ts'

/** Runs a scripted example offline. The store is temporary unless `--store` is given. */
export async function demoCommand(cli: Cli): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
  try {
    const script = join(folder, 'script.json')
    const { writeFile } = await import('node:fs/promises')
    await writeFile(script, JSON.stringify(demoScript))
    const store = cli.options.store ?? join(folder, 'store')
    return await runDemo({ ...cli, options: { ...cli.options, store, model: `scripted:${script}` } })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function runDemo(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  if (!options.json)
    for (const text of wrapText(DEMO_LABEL, terminal.err.width)) terminal.note(terminal.err.paint('yellow', text))
  return withTroupe(cli, 'new', async (troupe) => {
    const handle = await troupe.stream('task', { agent: 'default', instruction: DEMO_INSTRUCTION })
    const code = await followRun(cli, troupe, { handle })
    if (options.json) return code
    const events = await troupe.events(handle.run_id).all()
    const view = runViewFrom(events, await loadPatternViews(await troupe.patterns()))
    const lines = runTreeLines(view, { style: terminal.out, now: Date.now(), live: false })
    terminal.print(['', ...lines].join('\n'))
    if (!options.quiet) terminal.note(`\nstart your own run: ${programName(process.env)} run task --help`)
    return code
  })
}

const DEMO_LABEL = 'SCRIPTED DEMO: all responses come from a script; no model, API key or network is used.'
