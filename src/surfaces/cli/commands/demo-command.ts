import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadPatternViews } from '../../../views/pattern-views.ts'
import { runViewFrom } from '../../../views/run-reducer.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { followRun } from '../follow-run.ts'
import { withTroupe } from '../open-troupe.ts'
import { programName, setProgramName } from '../program-name.ts'
import { runTreeLines } from '../render/run-tree.ts'
import { withProgramName } from '../render/styled-line.ts'
import { DEMO_INSTRUCTION, demoScript } from './demo-script.ts'

/** Runs a scripted example offline. The store is a temporary folder, which stays for `show`, unless `--store` is given. */
export async function demoCommand(cli: Cli): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-demo-'))
  const script = join(folder, 'script.json')
  const store = cli.options.store ?? folder
  const options = { ...cli.options, store, model: `scripted:${script}` }
  setProgramName([cli.terminal.out, cli.terminal.err], options)
  try {
    await writeFile(script, JSON.stringify(demoScript))
    return await runDemo({ ...cli, options })
  } finally {
    await rm(store === folder ? script : folder, { recursive: true, force: true })
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
    if (options.quiet) return code
    const inspect = withProgramName(terminal.err, `inspect this run: troupe show ${handle.run_id}`)
    const start = `start your own run: ${programName(process.env)} run task --help`
    for (const text of ['', inspect, start])
      for (const line of wrapText(text, terminal.err.width, 2)) terminal.note(line)
    return code
  })
}

const DEMO_LABEL = 'SCRIPTED DEMO: all responses come from a script; no model, API key or network is used.'
