import { realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { ConfigFile } from '../../formats/config-file.ts'
import { findProjectConfig, toConfigFile } from '../../formats/config-file.ts'
import { isInFolder } from '../../formats/user-home.ts'
import { issueWarning } from '../issue-warning.ts'
import { DEFAULT_STORE } from '../open-store.ts'
import type { LoadedConfig, TroupeOptions } from '../troupe-options.ts'
import { loadConfig } from './troupe-config.ts'

/** Options after the configuration was applied. */
export interface ConfiguredOptions {
  options: TroupeOptions
  /** The folder of the configuration; `undefined` without one. */
  folder: string | undefined
}

/** Adds the configuration of the project to the options of a program; the options win. */
export async function applyConfig({ config, ...options }: TroupeOptions): Promise<ConfiguredOptions> {
  const loaded =
    typeof config === 'object' ? config : config === false ? undefined : await loadOwnConfig(config, options.trust)
  if (!loaded) return { options, folder: undefined }
  const { mergeOptions } = await import('./merge-options.ts')
  const { folder } = loaded
  const { store: place = join(folder, DEFAULT_STORE), ...configured } = loaded.options
  const { workspace, ...merged } = mergeOptions(configured, options)
  // The file may have come with the store that it names.
  const defaults = typeof place === 'string' ? { defaultStore: place } : { store: place }
  if (!workspace) return { options: { ...defaults, ...merged }, folder }
  // An agent that can write the configuration escalates its own privileges for the next run.
  const protect = [...(workspace.protect ?? []), ...(await configPaths(loaded))]
  return { options: { ...defaults, ...merged, workspace: { workspace: folder, ...workspace, protect } }, folder }
}

async function configPaths({ path }: LoadedConfig): Promise<string[]> {
  const { hashConfigFiles } = await import('../../formats/config-trust.ts')
  const file = toConfigFile(path)
  return Object.keys(await hashConfigFiles(file)).map((name) => resolve(file.folder, name))
}

/** The file that `config` names, or that of the project that the program belongs to. */
async function loadOwnConfig(
  path: string | undefined,
  trust: TroupeOptions['trust'],
): Promise<LoadedConfig | undefined> {
  if (path !== undefined) return loadConfig(path)
  const file = await findOwnConfig(trust)
  if (!file) return undefined
  const loaded = await loadConfig(file.path)
  if (trust === 'recorded') {
    const { checkTrustedAgents } = await import('../../formats/config-trust.ts')
    await checkTrustedAgents(file, loaded.options.agents)
  }
  return loaded
}

/**
 * The configuration of the working folder, if the program is part of that project. The code beside a program is as trusted as the program;
 * that of a folder somebody has only changed into may be a stranger's (untrusted search path).
 */
async function findOwnConfig(trust: TroupeOptions['trust']): Promise<ConfigFile | undefined> {
  if (trust === 'nothing') return undefined
  const file = await findProjectConfig(process.cwd())
  if (trust === 'project') return file
  if (trust === 'recorded') return file && (await isRecorded(file)) ? file : undefined
  const problem = file && ownershipProblem(file)
  if (problem === undefined) return file
  issueWarning(
    `troupe: ${file?.path} is not read, because ${problem}. ` +
      'To use it, pass `trust: "project"` to createTroupe, or its path as `config`; to silence this warning, pass `config: false`.',
  )
  return undefined
}

async function isRecorded({ folder }: ConfigFile): Promise<boolean> {
  const { isProjectTrusted } = await import('../../formats/project-trust.ts')
  return isProjectTrusted(folder)
}

/** The reason why a file may not be as trusted as the program; `undefined` if there is none. */
function ownershipProblem({ folder, path }: ConfigFile): string | undefined {
  const [, program] = process.argv
  if (program === undefined || !isProgramIn(folder, program)) return 'this program is not in that folder'
  // In a shared folder such as /tmp, somebody else may put a file, and the .git that makes it findable, above the program.
  const owners = [process.getuid?.(), 0, fileOwner(program)]
  return owners.includes(fileOwner(path)) ? undefined : 'it belongs to another user'
}

function isProgramIn(folder: string, program: string): boolean {
  return [program, realPath(program)].some((path) => isInFolder(folder, path) || isInFolder(realPath(folder), path))
}

function fileOwner(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.uid
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
