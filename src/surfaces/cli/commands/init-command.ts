import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withProgramName } from '../render/styled-line.ts'
import { STARTER_AGENTS } from './starter-agents.ts'

const AGENTS_FOLDER = '.troupe/agents'
const NEXT_STEPS = [
  ['troupe agents', 'list agents'],
  ['troupe agents check', 'check agent files'],
  ['troupe run task --agent explorer "How does this start?"', 'run an agent'],
] as const

/** Creates example agent files in the current folder; never overwrites. */
export async function initCommand(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  const files = Object.entries(STARTER_AGENTS).map(([name, text]) => ({ path: `${AGENTS_FOLDER}/${name}`, text }))
  const existing = files.map(({ path }) => path).filter((path) => existsSync(path))
  if (existing.length > 0) throw filesExistError(existing)
  await mkdir(join(...AGENTS_FOLDER.split('/')), { recursive: true })
  // Prevents a TOCTOU race: `wx` fails on a file created after the check.
  for (const { path, text } of files) await writeFile(path, text, { flag: 'wx' })
  const written = files.map(({ path }) => path)
  if (options.json) {
    printJson(cli, { written, next: NEXT_STEPS.map(([command]) => command) })
    return EXIT.done
  }
  for (const path of written) terminal.print(`wrote ${path}`)
  if (options.quiet) return EXIT.done
  const { out } = terminal
  for (const text of wrapText('Edit, rename or delete them. Next steps:', out.width)) terminal.print(text)
  for (const [command, description] of NEXT_STEPS) {
    for (const text of wrapText(`  ${withProgramName(out, command)}`, out.width, 4))
      terminal.print(out.paint('cyan', text))
    for (const text of wrapText(`    ${description}`, out.width, 4)) terminal.print(out.paint('dim', text))
  }
  return EXIT.done
}

function filesExistError(paths: readonly string[]): TroupeError {
  return new TroupeError(
    'invalid_input',
    `no files were written: ${paths.join(', ')} already ${paths.length > 1 ? 'exist' : 'exists'}`,
    {
      responsible: 'operator',
      hint: 'list agents with: troupe agents; move the files away to create new ones',
    },
  )
}
