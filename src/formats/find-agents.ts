import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { ReadingOptions } from './agent-file.ts'
import type { LoadedAgents } from './agent-folder.ts'
import { readFolder } from './agent-folder.ts'
import { resolveNames } from './agent-names.ts'
import type { FileProblem } from './problem.ts'
import { warning } from './problem.ts'

export interface FindOptions extends ReadingOptions {
  /** The folder of the project. */
  project: string
  /** The user's home; without it no agents of the user are looked for. */
  home?: string
  /** Only these folders or files, instead of the search path. */
  dirs?: readonly string[]
  /** Packages of the project whose `agents` folder is used. */
  packages?: readonly string[]
  /** False leaves out those that come with Troupe. */
  shipped?: boolean
}

const SHIPPED = 'troupe'
const OF_PROJECT = ['.troupe/agents', '.claude/agents', '.github/agents', '.amplifier/agents']
const OF_USER = ['.config/troupe/agents', '.claude/agents', '.copilot/agents', '.amplifier/agents']

/** The folders in a user's home. */
export function userFolders(home: string): string[] {
  return OF_USER.map((name) => join(home, ...name.split('/')))
}

/** Where agents come from, the first that has a name wins: the project, the user, packages, Troupe itself. */
export interface Source {
  folder: string
  collection?: string
  /** It is no mistake when the folder is missing. */
  optional: boolean
}

/** The folders that are searched, in order. */
export async function agentSources(options: FindOptions): Promise<Source[]> {
  const { project, home, dirs, packages = [], shipped = true } = options
  if (dirs) return dirs.map((folder) => ({ folder, optional: false }))
  const optional = (folder: string): Source => ({ folder, optional: true })
  const ofProject = OF_PROJECT.map((name) => optional(join(project, ...name.split('/'))))
  const ofUser = home === undefined ? [] : userFolders(home).map(optional)
  return [
    ...ofProject,
    // In a home folder that is a project the two share folders.
    ...ofUser.filter(({ folder }) => !ofProject.some((source) => source.folder === folder)),
    ...(await Promise.all(packages.map((name) => ofPackage(project, name)))),
    ...(shipped ? [{ folder: shippedAgents(), collection: SHIPPED, optional: false }] : []),
  ]
}

/** Finds the agents of a project. Each has a name of its own; what was wrong or hidden is among the problems. */
export async function findAgents(options: FindOptions): Promise<LoadedAgents> {
  const found: LoadedAgents = { agents: [], problems: await doubtfulAgents(options) }
  for (const { folder, collection, optional } of await agentSources(options)) {
    if (optional && !(await isThere(folder))) continue
    const reading = { tools: options.tools ?? [], ...(collection === undefined ? undefined : { collection }) }
    const { agents, problems } = await readFolder(folder, reading)
    found.agents.push(...agents)
    found.problems.push(...problems)
  }
  return resolveNames(found)
}

/**
 * What to know before the agents of a project are used: it lies in a folder where agents work. Commands of theirs can make
 * agent folders below that folder, where none were before, and whoever starts here takes them for his own.
 */
export async function doubtfulAgents({ project, home, dirs }: FindOptions): Promise<FileProblem[]> {
  const around = dirs ? undefined : await workspaceAround(project, home)
  if (around === undefined) return []
  const folders = OF_PROJECT.map((name) => join(project, ...name.split('/')))
  const there = await Promise.all(folders.map(isThere))
  const words = `lies in ${around}, where agents work: one of them may have written it; read it before you use it`
  return folders.flatMap((path, index) => (there[index] ? { ...warning(1, words), path } : []))
}

/** The nearest folder above a project in which Troupe keeps its own; a home, and what holds it, is nobody's workspace. */
async function workspaceAround(project: string, home: string | undefined): Promise<string | undefined> {
  for (let folder = dirname(project); dirname(folder) !== folder; folder = dirname(folder)) {
    if (folder === home) return undefined
    if (await isThere(join(folder, '.troupe'))) return folder
  }
  return undefined
}

/** The agents of one folder or file, without any other place. */
export function loadAgents(folder: string, options: ReadingOptions = {}): Promise<LoadedAgents> {
  return findAgents({ ...options, project: folder, dirs: [folder] })
}

/** A program's own agents with those that come with Troupe; one whose name is taken is called `troupe:name`. */
export async function withShipped(own: readonly Agent[]): Promise<Agent[]> {
  const { agents } = await readFolder(shippedAgents(), { collection: SHIPPED })
  const names = new Set(own.map(({ name }) => name))
  const shipped = agents.map((agent) =>
    names.has(agent.name) ? { ...agent, name: `${SHIPPED}:${agent.name}` } : agent,
  )
  return [...own, ...shipped.filter(({ name }) => !names.has(name))]
}

/** The folder of the agents that come with Troupe. */
export function shippedAgents(): string {
  return fileURLToPath(new URL('../../agents', import.meta.url))
}

/** A package is looked for as Node does: in `node_modules` here and in every folder above. */
async function ofPackage(project: string, name: string): Promise<Source> {
  if (!/^(@[\w.-]+\/)?[\w-][\w.-]*$/.test(name)) throw noPackage(name, 'that is no name of a package')
  for (let folder = project; ; folder = dirname(folder)) {
    const agents = join(folder, 'node_modules', ...name.split('/'), 'agents')
    if (await isThere(agents)) return { folder: agents, collection: name, optional: false }
    if (dirname(folder) === folder) throw noPackage(name, 'it is not installed, or has no folder `agents`')
  }
}

function noPackage(name: string, why: string): TroupeError {
  return new TroupeError('invalid_agent_file', `no agents can be read from the package '${name}': ${why}`, {
    blame: 'operator',
    hint: 'install it, or take its name out of the configuration',
  })
}

async function isThere(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  )
}
