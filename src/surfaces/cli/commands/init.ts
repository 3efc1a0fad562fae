import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { typable } from '../render/line.ts'
import { wrap } from '../render/width.ts'
import { STARTER_AGENTS } from './starter-agents.ts'

const FOLDER = '.troupe/agents'
const NEXT = [
  ['troupe agents', 'who can be called'],
  ['troupe agents check', 'what is wrong with their files'],
  ['troupe run task --agent explorer "How does this start?"', 'ask one'],
] as const

/** Writes a first roster into this folder. What is there already is never touched. */
export async function init(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  const files = Object.entries(STARTER_AGENTS).map(([name, text]) => ({ path: `${FOLDER}/${name}`, text }))
  const here = files.map(({ path }) => path).filter((path) => existsSync(path))
  if (here.length > 0) throw alreadyThere(here)
  await mkdir(join(...FOLDER.split('/')), { recursive: true })
  // Whoever makes one of them between the look and the write keeps it.
  for (const { path, text } of files) await writeFile(path, text, { flag: 'wx' })
  const written = files.map(({ path }) => path)
  if (options.json) {
    printJson(cli, { written, next: NEXT.map(([command]) => command) })
    return EXIT.done
  }
  for (const path of written) terminal.print(`wrote ${path}`)
  if (options.quiet) return EXIT.done
  const { out } = terminal
  for (const text of wrap('They are yours: change, rename or delete them. Then:', out.width)) terminal.print(text)
  for (const [command, why] of NEXT) {
    for (const text of wrap(`  ${typable(out, command)}`, out.width, 4)) terminal.print(out.paint('cyan', text))
    for (const text of wrap(`    ${why}`, out.width, 4)) terminal.print(out.paint('dim', text))
  }
  return EXIT.done
}

function alreadyThere(paths: readonly string[]): TroupeError {
  return new TroupeError(
    'invalid_input',
    `nothing was written: ${paths.join(', ')} ${paths.length > 1 ? 'are' : 'is'} there`,
    {
      blame: 'operator',
      hint: 'troupe agents lists who is there; move the files away to begin anew',
    },
  )
}
