import { registerHooks } from 'node:module'
import { extname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nearestNames, TroupeError, toTroupeError } from '../../errors.ts'
import type { ConfigData, ConfigFile } from '../../formats/config-file.ts'
import { readConfigData } from '../../formats/config-file.ts'
import { isRecord } from '../../schema/json-value.ts'
import { removedNameHint } from '../../schema/removed-names.ts'
import { checkOptionNames, HOOK_NAMES, optionNames } from '../check-option-names.ts'
import type { LoadedConfig, TroupeConfig } from '../troupe-options.ts'
import { configSchema, knownKeys } from './config-schema.ts'

/** Loads and checks a configuration file. Code in it is executed: the caller has to know that the operator trusts it. */
export async function loadConfigFile(file: ConfigFile): Promise<LoadedConfig> {
  const { path } = file
  if (file.kind === 'code') {
    const value = (await importModule(path)).default
    if (!isRecord(value))
      throw configError(`${path}: the default export is no object`, {
        hint: 'write: export default defineConfig({ … })',
      })
    checkNames(path, value)
    return loadedConfig(file, value)
  }
  const data = await readConfigData(file)
  await checkData(data)
  return loadedConfig(file, await withModules(file, data))
}

function loadedConfig({ path, folder }: ConfigFile, config: TroupeConfig): LoadedConfig {
  const { store } = config
  const hasRelativeStore = typeof store === 'string' && isPath(store) && !isAbsolute(store)
  return { path, folder, options: withAbsolutePaths(folder, config), ...(hasRelativeStore && { hasRelativeStore }) }
}

/** Which file is used, and what is trusted, the file itself does not say. */
const OF_PROGRAM = ['config', 'trust', 'defaultStore']

/** Throws `invalid_input` with the path. */
function checkNames(path: string, value: object): void {
  const own = Object.keys(value).find((name) => OF_PROGRAM.includes(name))
  if (own !== undefined) throw configError(`${path}: unknown key '${own}'`, { hint: 'pass it to `createTroupe`' })
  try {
    checkOptionNames(value)
  } catch (thrown) {
    const { message, ...rest } = toTroupeError(thrown).toJSON()
    throw configError(`${path}: ${message}`, rest)
  }
}

/** Throws `invalid_input` with the place, the reason and, for an unknown key, the known ones. */
async function checkData({ value, locate }: ConfigData): Promise<void> {
  if (!isRecord(value))
    throw configError(`${await locate([])}: the file is no object`, { hint: 'start with a key, such as `limits`' })
  const [issue] = configSchema.safeParse(value).error?.issues ?? []
  if (!issue) return
  if (issue.code !== 'unrecognized_keys')
    throw configError(`${await locate(issue.path)}: '${issue.path.join('.')}' is invalid: ${issue.message}`, {
      hint: 'docs/guide/configuration.md lists the keys and their values',
    })
  const [key = ''] = issue.keys
  const path = [...issue.path, key]
  if (path.length <= 2 && !OF_PROGRAM.includes(key) && optionNames(issue.path[0]).includes(key))
    throw configError(`${await locate(path)}: '${path.join('.')}' needs code`, {
      hint: 'use troupe.config.ts instead of JSON or YAML',
    })
  const known = nearestNames(key, knownKeys(issue.path))
  throw configError(`${await locate(path)}: unknown key '${path.join('.')}'`, {
    hint:
      removedNameHint(path.join('.')) ??
      (known.length > 0 ? `did you mean '${known[0]}'? The keys are ${known.join(', ')}` : 'remove the key'),
    alternatives: known,
  })
}

function configError(message: string, { hint, alternatives = [] }: { hint: string; alternatives?: string[] }) {
  return new TroupeError('invalid_input', message, { hint, alternatives, responsible: 'operator' })
}

/** The exports of a module that each of the keys takes. */
const EXPORTS: Readonly<Record<'tools' | 'patterns' | 'hooks', (value: Record<string, unknown>) => boolean>> = {
  tools: ({ name, execute, kind }) => typeof name === 'string' && typeof execute === 'function' && kind !== undefined,
  patterns: ({ name, execute, output }) =>
    typeof name === 'string' && typeof execute === 'function' && output !== undefined,
  hooks: ({ name: _name, ...points }) =>
    Object.keys(points).length > 0 && Object.keys(points).every((point) => HOOK_NAMES.includes(point)),
}

/** Replaces the modules that a JSON or YAML file names by what they export. */
async function withModules(file: ConfigFile, { value, locate }: ConfigData): Promise<TroupeConfig> {
  const { $schema: _schema, ...config } = value as Record<string, unknown>
  for (const key of ['tools', 'patterns', 'hooks'] as const) {
    const paths = config[key] as string[] | undefined
    if (!paths) continue
    const loaded = paths.map(async (path, index) => {
      const values = Object.values(await importModule(resolve(file.folder, path)))
      const found = values.filter((each) => typeof each === 'object' && each !== null && EXPORTS[key](each as never))
      if (found.length > 0) return found
      throw configError(`${await locate([key, index])}: ${path} exports no ${key}`, { hint: `export ${key} by name` })
    })
    config[key] = [...new Set((await Promise.all(loaded)).flat())]
  }
  return config as TroupeConfig
}

/**
 * Imports a file of the project. `troupe` in it is this copy of the package, installed or not. TypeScript files are ES modules, whatever the
 * package says: `npm init` writes `"type": "commonjs"`.
 */
async function importModule(path: string): Promise<Record<string, unknown>> {
  const own = new URL(`../../index${extname(fileURLToPath(import.meta.url))}`, import.meta.url).href
  const hooks = registerHooks({
    resolve: (specifier, context, nextResolve) =>
      specifier === 'troupe' && !context.parentURL?.includes('/node_modules/')
        ? { url: own, shortCircuit: true }
        : nextResolve(specifier, context),
    load: (url, context, nextLoad) =>
      context.format === 'commonjs-typescript' && !url.includes('/node_modules/')
        ? nextLoad(url, { ...context, format: 'module-typescript' })
        : nextLoad(url, context),
  })
  try {
    return await import(pathToFileURL(path).href)
  } catch (thrown) {
    throw importError(path, thrown)
  } finally {
    hooks.deregister()
  }
}

function importError(path: string, thrown: unknown): TroupeError {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const code = (error as NodeJS.ErrnoException).code ?? ''
  // The stack of a syntax error begins with its place; that of a thrown error lists places of Node first.
  const [, place = path, position = ''] =
    /(?:file:\/\/)?(\/[^\s:()]+\.[cm]?[jt]s)((?::\d+){1,2})/.exec(error.stack ?? '') ?? []
  const [, module, name] = /'(troupe[^']*)' does not provide an export named '(\w+)'/.exec(error.message) ?? []
  const [reason = ''] = error.message.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('file://'))
  return new TroupeError('invalid_input', `${position === '' ? path : place + position}: ${reason.trim() || code}`, {
    hint:
      removedNameHint(`${module} ${name}`) ??
      IMPORT_HINTS[code] ??
      'correct the file; set TROUPE_DEBUG=1 for the stack trace',
    responsible: 'operator',
    cause: thrown,
  })
}

const IMPORT_HINTS: Readonly<Record<string, string>> = {
  ERR_MODULE_NOT_FOUND:
    'install the package, or correct the path; imports of files need their extension, such as ./tools.ts',
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: 'Node only strips types: replace enums, namespaces and parameter properties',
  ERR_INVALID_TYPESCRIPT_SYNTAX: 'correct the syntax',
}

/** Paths in a file start at its folder, wherever the process was started. */
function withAbsolutePaths(folder: string, config: TroupeConfig): TroupeConfig {
  const { store, model, agents, team, workspace, cassette } = config
  const absolute = (path: string) => (isAbsolute(path) ? path : resolve(folder, path))
  return {
    ...config,
    ...(store === undefined
      ? undefined
      : { store: typeof store === 'string' && isPath(store) ? absolute(store) : store }),
    ...(model === undefined ? undefined : { model: typeof model === 'string' ? scriptPath(model, absolute) : model }),
    ...(agents && { agents: agents.map((agent) => (typeof agent === 'string' ? absolute(agent) : agent)) }),
    ...(team?.teams && {
      team: { ...team, teams: team.teams.map((each) => (typeof each === 'string' ? absolute(each) : each)) },
    }),
    ...(workspace?.workspace && { workspace: { ...workspace, workspace: absolute(workspace.workspace) } }),
    ...(cassette && {
      cassette: Object.fromEntries(Object.entries(cassette).map(([key, path]) => [key, absolute(path)])) as never,
    }),
  }
}

/** `memory` and addresses such as `postgres://…`, which are reported when the store is opened, are no paths. */
function isPath(store: string): boolean {
  return store !== 'memory' && !/^(?:[a-z][a-z0-9+.-]+:|:|$)/i.test(store)
}

function scriptPath(model: string, absolute: (path: string) => string): string {
  return model.startsWith('scripted:') ? `scripted:${absolute(model.slice('scripted:'.length))}` : model
}
