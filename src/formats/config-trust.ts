import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles } from './folder-trust.ts'

/** The files whose content decides what a configuration does: the file and what it names by a relative path, recursively. */
export async function hashConfigFiles(file: ConfigFile): Promise<FileHashes> {
  const named = file.kind === 'code' ? [] : namedPaths((await readConfigData(file)).value)
  return hashFiles(file.folder, [file.path, ...named])
}

/** Keys of JSON and YAML whose values are loaded or started. */
const LOADED_KEYS = ['tools', 'patterns', 'hooks', 'agents', 'mcp']

/** Modules, scripts of servers and the like, with or without `./`. A string that names no file is not hashed. */
function namedPaths(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return []
  return LOADED_KEYS.flatMap((key) => stringsIn((config as Record<string, unknown>)[key]))
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' || value.includes('\0') ? [] : [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
