import { readdir, stat } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { TroupeError } from '../errors.ts'
import { parseJson } from '../schema/json-value.ts'
import { readTextFile } from './file-text.ts'
import { safeYamlOptions, yamlErrorReason } from './yaml-limits.ts'
import { findYamlPosition } from './yaml-positions.ts'

/** A configuration file that exists. */
export interface ConfigFile {
  path: string
  folder: string
  /** `code` is executed when it is loaded. */
  kind: 'code' | 'data'
}

/** Data of a configuration file. */
export interface ConfigData {
  value: unknown
  /** `path:line:column` of a key, or the path if the position is not known. */
  locate(key: readonly PropertyKey[]): Promise<string>
}

export const PROJECT_CONFIG = 'troupe.config'
const EXTENSIONS = ['.ts', '.js', '.json', '.yaml']

/**
 * The configuration of the project that a folder belongs to: in the folder itself, or in one above it up to the root of the git
 * repository. Without a repository only the folder itself is searched: anybody may write to a folder such as `/tmp`.
 */
export async function findProjectConfig(from: string): Promise<ConfigFile | undefined> {
  const last = (await gitRoot(from)) ?? from
  for (let folder = from; ; folder = dirname(folder)) {
    const file = await configFileIn(folder, PROJECT_CONFIG)
    if (file || folder === last) return file
  }
}

/** The file of this name with one of the extensions. An empty file does not count. */
export async function configFileIn(folder: string, name: string): Promise<ConfigFile | undefined> {
  const names = await readdir(folder).catch((): string[] => [])
  const candidates = EXTENSIONS.map((extension) => name + extension).filter((each) => names.includes(each))
  const sizes = await Promise.all(candidates.map((each) => fileSize(join(folder, each))))
  // A killed sandboxed command can leave an empty mount point in place of a protected file.
  const [first, second] = candidates.filter((_, index) => (sizes[index] ?? 0) > 0)
  if (first === undefined) return undefined
  if (second === undefined) return toConfigFile(join(folder, first))
  throw new TroupeError('invalid_input', `${folder} has two configuration files: ${first} and ${second}`, {
    hint: 'keep one of them',
    responsible: 'operator',
  })
}

/** Throws `invalid_input` for a file of another kind. */
export function toConfigFile(path: string): ConfigFile {
  const extension = extname(path)
  const kind = extension === '.ts' || extension === '.js' ? 'code' : 'data'
  if (EXTENSIONS.includes(extension)) return { path, folder: dirname(path), kind }
  throw new TroupeError('invalid_input', `\`config\`: ${path} is no configuration file`, {
    hint: `use a file that ends in ${EXTENSIONS.join(', ')}`,
  })
}

/** Parses a JSON or YAML file. Throws `invalid_input` with the position of a syntax error. */
export async function readConfigData({ path }: ConfigFile): Promise<ConfigData> {
  const text = await readConfigText(path)
  const format = path.endsWith('.json') ? 'json' : 'yaml'
  const locate: ConfigData['locate'] = async (key) => (await parseYaml(path, text)).locate(key)
  const json = format === 'json' ? parseJson(text) : undefined
  if (json !== undefined) return { value: json, locate }
  // JSON is YAML with fewer types: the library finds the position of a problem, and reads a trailing comma.
  const { document } = await parseYaml(path, text, format === 'json' ? 'json' : 'core')
  const [error] = document.errors
  if (error) {
    const { line = 1, col = 1 } = error.linePos?.[0] ?? {}
    throw syntaxError(`${path}:${line}:${col}: invalid ${format.toUpperCase()}: ${yamlErrorReason(error)}`)
  }
  return { value: documentValue(path, document), locate }
}

async function parseYaml(path: string, text: string, schema: 'core' | 'json' = 'core') {
  const yaml = await import('yaml')
  const lines = new yaml.LineCounter()
  const document = yaml.parseDocument(text, {
    ...{ lineCounter: lines, logLevel: 'error', schema },
    ...safeYamlOptions(),
  })
  const locate = (key: readonly PropertyKey[]): string => {
    if (document.errors.length > 0) return path
    const names = key.map((part) => (typeof part === 'symbol' ? '' : part))
    const { line, column } = findYamlPosition({ yaml, document, lines, text }, { path: names, key: true })
    return `${path}:${line}:${column}`
  }
  return { document, locate }
}

/** The text of a configuration file. */
async function readConfigText(path: string): Promise<string> {
  const content = await readTextFile(path, () => true).catch((thrown: NodeJS.ErrnoException) => {
    throw unreadableError(path, thrown.code === 'ENOENT' ? 'no such file' : thrown.message)
  })
  if (content === undefined) throw unreadableError(path, 'it is not a text file')
  if (content === 'too large') throw unreadableError(path, 'it is larger than 1 MB')
  return content.text.replace(/^\uFEFF/, '')
}

/** The library rejects alias bombs ("billion laughs"). */
function documentValue(path: string, document: { toJS(): unknown }): unknown {
  try {
    return document.toJS()
  } catch (thrown) {
    throw syntaxError(`${path}: invalid YAML: ${(thrown as Error).message}`)
  }
}

function syntaxError(message: string): TroupeError {
  return new TroupeError('invalid_input', message, { hint: 'correct the file', responsible: 'operator' })
}

function unreadableError(path: string, reason: string): TroupeError {
  return new TroupeError('invalid_input', `the configuration file ${path} cannot be read: ${reason}`, {
    hint: 'check the path and its permissions; troupe init writes a new file',
    responsible: 'operator',
  })
}

/** The nearest folder from here upwards that is a git repository. */
export async function gitRoot(from: string): Promise<string | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    if ((await fileSize(join(folder, '.git'))) !== undefined) return folder
    if (dirname(folder) === folder) return undefined
  }
}

async function fileSize(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  )
}
