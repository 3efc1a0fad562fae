import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `path` is relative to the root of its tree, with forward slashes. */
export type SourceFile = { path: string; source: string }

export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url))

export function readSources(folder: string, ending: string, tree = repositoryRoot): SourceFile[] {
  const names = readdirSync(join(tree, folder), { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith(ending) && !path.includes('/fixtures/') && !path.includes('/node_modules/'))
    .sort()
    .map((path) => ({ path, source: readSource(path, tree) }))
}

export function readSource(path: string, tree = repositoryRoot): string {
  return readFileSync(join(tree, path), 'utf8')
}
