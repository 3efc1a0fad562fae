import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { withProgramName } from '../render/styled-line.ts'
import { wrapText } from '../render/text-width.ts'
import { STARTER_AGENTS } from './starter-agents.ts'

const AGENTS_FOLDER = '.troupe/agents'
const NEXT_STEPS = [
  ['troupe agents', 'who can be called'],
  ['troupe agents check', 'what is wrong with their files'],
  ['troupe run task --agent explorer "How does this start?"', 'ask one'],
] as const

/** Writes a first roster into this folder. What is there already is never touched. */
export async function initCommand(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  const files = Object.entries(STARTER_AGENTS).map(([name, text]) => ({ path: `${AGENTS_FOLDER}/${name}`, text }))
  const here = files.map(({ path }) => path).filter((path) => existsSync(path))
  if (here.length > 0) throw filesExistError(here)
  await mkdir(join(...AGENTS_FOLDER.split('/')), { recursive: true })
  // Whoever makes one of them between the look and the write keeps it.
  for (const { path, text } of files) await writeFile(path, text, { flag: 'wx' })
  const written = files.map(({ path }) => path)
  if (options.json) {
    printJson(cli, { written, next: NEXT_STEPS.map(([command]) => command) })
    return EXIT.done
  }
  for (const path of written) terminal.print(`wrote ${path}`)
  if (options.quiet) return EXIT.done
  const { out } = terminal
  for (const text of wrapText('They are yours: change, rename or delete them. Then:', out.width)) terminal.print(text)
  for (const [command, why] of NEXT_STEPS) {
    for (const text of wrapText(`  ${withProgramName(out, command)}`, out.width, 4))
      terminal.print(out.paint('cyan', text))
    for (const text of wrapText(`    ${why}`, out.width, 4)) terminal.print(out.paint('dim', text))
  }
  return EXIT.done
}

function filesExistError(paths: readonly string[]): TroupeError {
  return new TroupeError(
    'invalid_input',
    `nothing was written: ${paths.join(', ')} ${paths.length > 1 ? 'are' : 'is'} there`,
    {
      responsible: 'operator',
      hint: 'troupe agents lists who is there; move the files away to begin anew',
    },
  )
}
