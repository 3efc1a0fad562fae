import { readConfigState } from './git-files.ts'
import type { GitProgram } from './git-process.ts'
import { runGit } from './git-process.ts'

export type Settings = readonly (readonly [key: string, value: string])[]

/** Settings for commands in a folder that disable the programs of the repository's config. */
export type ProgramSettings = (program: GitProgram, folder: string) => Promise<Settings>

/**
 * Reads the names of the programs to disable once for each folder, and again whenever a config file has another text than before the last
 * read: a program that was added since must not be executed.
 */
export function createProgramSettings(): ProgramSettings {
  const known = new Map<string, { state: string; settings: Settings }>()
  return async (program, folder) => {
    const state = readConfigState(folder)
    const last = known.get(folder)
    if (state !== undefined && last?.state === state) return last.settings
    const settings = await readProgramSettings(program, folder)
    if (state === undefined) known.delete(folder)
    else known.set(folder, { state, settings })
    return settings
  }
}

/**
 * Settings that disable the programs of the repository's config, whose names are free: filters (clean, smudge), merge drivers, hooks, and
 * converters for diffs. Without its driver a merge of such a file is a conflict: an empty driver would silently take one side.
 */
async function readProgramSettings(program: GitProgram, folder: string): Promise<Settings> {
  const args = ['-C', folder, 'config', '--list', '--includes', '--name-only', '-z']
  const { stdout } = await runGit(program, { args })
  const settings = new Map<string, string>()
  for (const key of stdout.toString('utf8').split('\0')) {
    const [, section = '', name] = /^(filter|merge|diff|hook)\.(.+)\.[a-z0-9-]+$/s.exec(key) ?? []
    if (name === undefined) continue
    if (section === 'merge') settings.set(`merge.${name}.driver`, 'false')
    if (section === 'diff') for (const end of ['command', 'textconv']) settings.set(`diff.${name}.${end}`, '')
    // Git 2.54 and later: `core.hooksPath` does not disable the hooks of a config.
    if (section === 'hook') settings.set(`hook.${name}.enabled`, 'false')
    if (section === 'filter') {
      for (const end of ['clean', 'smudge', 'process']) settings.set(`filter.${name}.${end}`, '')
      settings.set(`filter.${name}.required`, 'false')
    }
  }
  return [...settings]
}
