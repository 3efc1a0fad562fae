import { readFile, stat } from 'node:fs/promises'
import { dirname, relative, resolve, sep } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { ConfigFile } from './config-file.ts'
import { readConfigData } from './config-file.ts'
import { listFilesBelow } from './file-tree.ts'
import type { FileHashes } from './folder-trust.ts'
import { hashFiles } from './folder-trust.ts'
import { modulePaths, stringsIn } from './named-files.ts'
import { isInFolder } from './user-home.ts'

/*
 * A configuration trusts the files that it names, and the agent files that it names in `agents`. These have to be known without
 * executing the configuration: from code, only the strings in an array named `agents` count. `checkTrustedAgents` rejects the others.
 */

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

/** Throws `invalid_input` if a loaded configuration uses agent files that `hashConfigFiles` does not cover. Packages are trusted by their lock file. */
export async function checkTrustedAgents(file: ConfigFile, agents: readonly unknown[] = []): Promise<void> {
  const paths = texts(agents)
  const shown = paths.length === 0 ? [] : await trustedAgentPaths(file)
  const isShown = (path: string) => shown.some((folder) => isInFolder(folder, path))
  const isPackage = (path: string) => path.split(sep).includes('node_modules')
  const hidden = paths.find((path) => !isShown(path) && !isPackage(path))
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

/** Keys of JSON and YAML whose values are neither loaded nor started; the paths in them change with every run, or are only patterns. */
const OTHER_KEYS = new Set(['$schema', 'store', 'permissions', 'workspace'])

/** Modules, scripts of servers, team files and the like, with or without `./`. A string that names no file is not hashed. */
function namedPaths(config: unknown): string[] {
  if (typeof config !== 'object' || config === null) return []
  const named = Object.entries(config).flatMap(([key, value]) => (OTHER_KEYS.has(key) ? [] : stringsIn(value)))
  return texts(named).flatMap((text) => modulePaths(text.replace(/^scripted:/, '')))
}

/** The folders and files in `agents` of a configuration, absolute. `files` are those of the configuration. */
async function configAgentPaths(file: ConfigFile, files: FileHashes): Promise<string[]> {
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
function agentStrings(code: string): string[] {
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
async function agentFilesAt(path: string, config: ConfigFile): Promise<string[]> {
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
