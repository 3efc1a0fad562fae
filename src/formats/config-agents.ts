import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import { listFilesBelow } from './file-tree.ts'
import type { FileHashes } from './folder-trust.ts'
import { isInFolder } from './is-in-folder.ts'

/*
 * The agent files that a configuration names in `agents`. They are part of what the operator trusts, so that they have to be known without
 * executing the configuration: from code, only the strings in an array named `agents` count. `requireTrustedAgentPaths` rejects the others.
 */

/** The folders and files in `agents` of a configuration, absolute. `files` are those of the configuration. */
export async function configAgentPaths(file: ConfigFile, files: FileHashes): Promise<string[]> {
  const { folder } = file
  if (file.kind === 'data') {
    const { value } = await readConfigData(file)
    const { agents } = Object(value) as { agents?: unknown }
    return texts(Array.isArray(agents) ? agents : []).map((path) => resolve(folder, path))
  }
  const code = Object.keys(files).filter((name) => /\.[cm]?[jt]sx?$/.test(name))
  const sources = await Promise.all(code.map((name) => readFile(resolve(folder, name), 'utf8').catch(() => '')))
  return [...new Set(sources.flatMap(agentStrings))].map((path) => resolve(folder, path))
}

function texts(values: readonly unknown[]): string[] {
  return values.filter((value) => typeof value === 'string' && value !== '' && !value.includes('\0')) as string[]
}

/** The strings of arrays such as `agents: ['./team', { … }]`, without those inside of objects. */
export function agentStrings(code: string): string[] {
  return [...code.matchAll(AGENTS_ARRAY)].flatMap(({ index, 0: start }) => stringsOfArray(code, index + start.length))
}

const AGENTS_ARRAY = /\bagents['"]?\s*[:=]\s*\[/g
const TOKEN = /(['"`])((?:\\.|(?!\1)[^\\\n])*)\1|\/\/[^\n]*|[[\]{}]/g

function stringsOfArray(code: string, start: number): string[] {
  const found: string[] = []
  let depth = 1
  for (const [token, quote, text = ''] of code.slice(start, start + MAX_ARRAY_CHARACTERS).matchAll(TOKEN)) {
    if (quote !== undefined && depth === 1) found.push(text)
    if (token === '[' || token === '{') depth++
    if (token === ']' || token === '}') depth--
    if (depth === 0) break
  }
  return texts(found)
}

const MAX_ARRAY_CHARACTERS = 100_000

/** The files that are read for a path in `agents`: those below a folder, or the file with the instructions that a roster names. */
export async function agentFilesAt(path: string, config: ConfigFile): Promise<string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
    throw error
  })
  if (found?.isFile()) return [path, ...(await instructionFiles(path))]
  if (!found?.isDirectory()) return []
  // The folder of the whole project: asking again after every change of a source would teach people to agree without reading.
  const isWholeProject = isInFolder(path, config.path)
  return (await listFilesBelow(path, (name) => !isWholeProject || READ_FILE.test(name))).files
}

const READ_FILE = /\.(?:md|ya?ml|txt|j2)$/i
const INSTRUCTION_FILE = /\.(?:md|txt|j2)$/i

async function instructionFiles(path: string): Promise<string[]> {
  if (!/\.ya?ml$/i.test(path)) return []
  const words = (await readFile(path, 'utf8')).split(/[^\w./-]+/)
  return words
    .filter((word) => word.length < 300 && INSTRUCTION_FILE.test(word))
    .map((word) => resolve(dirname(path), word))
}

/** Throws `invalid_input` if a loaded configuration uses agent files that the operator was not shown. Packages are trusted by their lock file. */
export function requireTrustedAgentPaths(file: ConfigFile, shown: readonly string[], agents: readonly unknown[]): void {
  const isShown = (path: string) => shown.some((folder) => isInFolder(folder, path))
  const isPackage = (path: string) => path.split(sep).includes('node_modules')
  const hidden = texts(agents).find((path) => !isShown(path) && !isPackage(path))
  if (hidden === undefined) return
  throw new TroupeError(
    'invalid_input',
    `${file.path}: \`agents\` has the path ${relative(file.folder, hidden)}, which the file does not contain as a string, so that its agent files are not part of what you trusted`,
    {
      hint: "write the path into the array, such as `agents: ['./my-agents']`, or pass --trust-project",
      responsible: 'operator',
    },
  )
}
