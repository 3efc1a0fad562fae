import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { TroupeError } from '../../../errors.ts'
import { formatProfileFile, loadProjectProfile } from '../../../formats/project-profile/load-project-profile.ts'
import { PROFILE_PATH } from '../../../formats/project-profile/profile-file.ts'
import { openProjectFiles } from '../../../formats/project-profile/project-files.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'

const MAX_LISTED = 8

/** Prints what specialists are told about the project, or writes it to a file that people can edit. */
export async function profileCommand(cli: Cli<{ write?: boolean }>, folder = '.'): Promise<number> {
  const path = resolve(folder)
  if (!(await stat(path).catch(() => undefined))?.isDirectory())
    throw new TroupeError('invalid_input', `[folder]: ${path} is no folder`, {
      hint: 'pass the folder of the project, or none for the current one',
      responsible: 'operator',
    })
  const profile = await loadProjectProfile(path)
  const { terminal, options } = cli
  if (options.write) {
    const file = join(path, PROFILE_PATH)
    await mkdir(join(path, '.troupe'), { recursive: true })
    if ((await (await openProjectFiles(path)).list('.troupe')) === undefined) throw outsideError(join(path, '.troupe'))
    // Prevents a TOCTOU race and a write through a link: `wx` fails on anything that exists.
    await writeFile(file, await formatProfileFile(profile), { flag: 'wx' }).catch((thrown: NodeJS.ErrnoException) => {
      throw thrown.code === 'EEXIST' ? fileExistsError(file) : thrown
    })
    if (options.json) printJson(cli, { written: file })
    else terminal.print(`wrote ${file}; edit it: its fields win over what is detected`)
    return EXIT.done
  }
  if (options.json) {
    printJson(cli, profile)
    return EXIT.done
  }
  const { architecture_decisions: decisions, best_practices: practices } = profile
  terminal.print(`type       ${toTerminalLine(profile.project_type)}`)
  terminal.print(`stack      ${toTerminalLine(profile.tech_stack.join(', ')) || 'none recognised'}`)
  printList(
    cli,
    'decisions',
    decisions.map(({ title, path: record }) => (record === '' ? title : `${title}  (${record})`)),
  )
  printList(
    cli,
    'practices',
    practices.map((practice) => (practice.for === undefined ? '' : `[${practice.for}] `) + practice.text),
  )
  const origin = profile.source === 'file' ? `${PROFILE_PATH} and the files of the project` : 'the files of the project'
  terminal.print(`from       ${origin}; --write writes ${PROFILE_PATH}, --json prints all of it`)
  return EXIT.done
}

function printList({ terminal }: Cli, name: string, lines: readonly string[]): void {
  terminal.print(`${name.padEnd(10)} ${lines.length}`)
  for (const line of lines.slice(0, MAX_LISTED)) terminal.print(`  - ${toTerminalLine(line)}`)
  if (lines.length > MAX_LISTED) terminal.print(`  … ${lines.length - MAX_LISTED} more`)
}

function fileExistsError(file: string): TroupeError {
  return new TroupeError('invalid_input', `--write: ${file} exists`, {
    hint: 'edit it; or delete it first to write what is detected',
    responsible: 'operator',
  })
}

/** A link would make this command write to a folder that somebody else chose (symlink attack). */
function outsideError(folder: string): TroupeError {
  return new TroupeError('invalid_input', `--write: ${folder} is a link to a folder outside of the project`, {
    hint: 'replace it by a folder',
    responsible: 'operator',
  })
}
