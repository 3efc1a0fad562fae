import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles } from './folder-trust.ts'

/** The files whose content decides what a configuration does: the file and what it names by a relative path, recursively. */
export async function hashConfigFiles(file: ConfigFile): Promise<FileHashes> {
  const named = file.kind === 'code' ? [] : namedPaths((await readConfigData(file)).value)
  return hashFiles(file.folder, [file.path, ...named])
}

/** Keys of JSON and YAML whose values are neither loaded nor started; the paths in them change with every run, or are only patterns. */
const OTHER_KEYS = new Set(['$schema', 'store', 'permissions', 'workspace'])

/** Modules, scripts of servers, team files and the like, with or without `./`. A string that names no file is not hashed. */
function namedPaths(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return []
  return Object.entries(config).flatMap(([key, value]) => (OTHER_KEYS.has(key) ? [] : stringsIn(value)))
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' || value.includes('\0') ? [] : [value.replace(/^scripted:/, '')]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
