import { agentFilesAt, configAgentPaths, requireTrustedAgentPaths } from './config-agents.ts'
import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles, modulePaths } from './folder-trust.ts'

/** The files whose content decides what a configuration does: the file, what it names by a relative path, recursively, and its agent files. */
export async function hashConfigFiles(file: ConfigFile): Promise<FileHashes> {
  const files = await hashNamedFiles(file)
  const paths = await configAgentPaths(file, files)
  const agents = (await Promise.all(paths.map((path) => agentFilesAt(path, file)))).flat()
  return agents.length === 0 ? files : { ...files, ...(await hashFiles(file.folder, agents)) }
}

async function hashNamedFiles(file: ConfigFile): Promise<FileHashes> {
  const named = file.kind === 'code' ? [] : namedPaths((await readConfigData(file)).value)
  return hashFiles(file.folder, [file.path, ...named])
}

/** The folders and files in `agents` of a configuration whose content is part of `hashConfigFiles`, absolute. */
export async function trustedAgentPaths(file: ConfigFile): Promise<string[]> {
  return configAgentPaths(file, await hashNamedFiles(file))
}

/** Throws `invalid_input` if `agents` of the loaded configuration has a path that `hashConfigFiles` does not cover. */
export async function checkTrustedAgents(file: ConfigFile, agents: readonly unknown[] = []): Promise<void> {
  if (agents.some((agent) => typeof agent === 'string'))
    requireTrustedAgentPaths(file, await trustedAgentPaths(file), agents)
}

/** Keys of JSON and YAML whose values are neither loaded nor started; the paths in them change with every run, or are only patterns. */
const OTHER_KEYS = new Set(['$schema', 'store', 'permissions', 'workspace'])

/** Modules, scripts of servers, team files and the like, with or without `./`. A string that names no file is not hashed. */
function namedPaths(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return []
  const named = Object.entries(config).flatMap(([key, value]) => (OTHER_KEYS.has(key) ? [] : stringsIn(value)))
  return named.flatMap(modulePaths)
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' || value.includes('\0') ? [] : [value.replace(/^scripted:/, '')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
