import { existsSync } from 'node:fs'
import { mkdir, realpath, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import { wrapText } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { recordProjectTrust } from '../project-config.ts'
import { withProgramName } from '../render/styled-line.ts'
import { STARTER_AGENTS } from './starter-agents.ts'
import { STARTER_CONFIG } from './starter-config.ts'
import { starterPrograms } from './starter-programs.ts'

const AGENTS_FOLDER = '.troupe/agents'
const NEXT_STEPS = [
  ['troupe agents', 'list agents'],
  ['troupe agents check', 'check agent files'],
  ['troupe run task --agent explorer "How does this start?"', 'run an agent'],
  ['node ask.mts "What is a good name for a cat?"', 'run an agent from a program'],
] as const

/** Creates a configuration and example agent files in the current folder. What exists is left as it is. */
export async function initCommand(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  const { configFileIn, PROJECT_CONFIG } = await import('../../../formats/config-file.ts')
  const folder = process.cwd()
  const config = await configFileIn(folder, PROJECT_CONFIG)
  const agents = Object.entries(STARTER_AGENTS).map(([name, text]) => ({ path: `${AGENTS_FOLDER}/${name}`, text }))
  const kept = agents.map(({ path }) => path).filter((path) => existsSync(path))
  const trusted = [
    ...(config ? [] : [{ path: `${PROJECT_CONFIG}.ts`, text: STARTER_CONFIG }]),
    ...(kept.length > 0 ? [] : agents),
  ]
  const programs = config ? [] : starterPrograms()
  const files = [...trusted, ...programs.filter(({ path }) => !existsSync(path))]
  kept.push(...programs.map(({ path }) => path).filter((path) => existsSync(path)))
  if (config) kept.unshift(basename(config.path))
  if (files.length === 0) throw filesExistError(kept)
  const { readUsableRecord, trustRecordPath } = await import('../../../formats/folder-trust.ts')
  // Before anything is written: the configuration could not be recorded as trusted without losing what the record has.
  if (!config) await readUsableRecord(trustRecordPath())
  const folders = new Set([AGENTS_FOLDER, ...programs.map(({ path }) => dirname(path))].flatMap(withParents))
  folders.delete('.')
  for (const name of folders) {
    await mkdir(join(folder, name), { recursive: true })
    await requireOwnFolder(folder, name)
  }
  // Prevents a TOCTOU race: `wx` fails on a file created after the check.
  for (const { path, text } of files) await writeFile(path, text, { flag: 'wx' })
  const written = files.map(({ path }) => path)
  const names = trusted.map(({ path }) => path)
  if (!config) await trustOwnFiles(cli, folder, names)
  if (options.json) {
    printJson(cli, { written, kept, next: NEXT_STEPS.map(([command]) => command) })
    return EXIT.done
  }
  for (const path of written) terminal.print(`wrote ${path}`)
  for (const path of kept) terminal.print(`kept ${path}`)
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

/** A folder of the project after those above it. */
function withParents(path: string): string[] {
  return path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'))
}

/** A link, which a repository can contain, would make this command write to a folder that somebody else chose (symlink attack). */
async function requireOwnFolder(project: string, name: string): Promise<void> {
  const [root, real] = await Promise.all([realpath(project), realpath(join(project, name))])
  const { isInFolder } = await import('../../../formats/user-home.ts')
  if (isInFolder(root, real)) return
  throw new TroupeError(
    'invalid_input',
    `no files were written: ${name} is a link to ${real}, outside of the project`,
    {
      responsible: 'operator',
      hint: 'replace the link by a folder, then run `troupe init` again',
    },
  )
}

/** The operator need not be asked about files that this command has just written. */
async function trustOwnFiles({ terminal }: Cli, folder: string, written: readonly string[]): Promise<void> {
  const { hashFiles } = await import('../../../formats/folder-trust.ts')
  await recordProjectTrust(terminal, folder, await hashFiles(folder, written))
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
