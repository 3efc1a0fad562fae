import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `path` is relative to the repository, with forward slashes. */
export type SourceFile = { path: string; source: string }

export const root = fileURLToPath(new URL('../', import.meta.url))

export function readSources(folder: string, ending: string): SourceFile[] {
  const names = readdirSync(new URL(`../${folder}/`, import.meta.url), { recursive: true, encoding: 'utf8' })
  return names
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith(ending) && !path.includes('/fixtures/') && !path.includes('/node_modules/'))
    .sort()
    .map((path) => ({ path, source: readSource(path) }))
}

export function readSource(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
}
