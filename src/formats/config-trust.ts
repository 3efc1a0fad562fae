import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles } from './folder-trust.ts'

/** The files whose content decides what a configuration does: the file and what it names by a relative path, recursively. */
export async function hashConfigFiles(file: ConfigFile): Promise<FileHashes> {
  const named = file.kind === 'code' ? [] : relativePaths((await readConfigData(file)).value)
  return hashFiles(file.folder, [file.path, ...named])
}

/** Modules, scripts of servers and the like. */
function relativePaths(value: unknown): string[] {
  if (typeof value === 'string') return /^\.{1,2}\//.test(value) ? [value] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(relativePaths) : []
}
