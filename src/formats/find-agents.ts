import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { AgentFileOptions } from './agent-file.ts'
import type { LoadedAgents } from './agent-folder.ts'
import { readAgentFolder } from './agent-folder.ts'
import { resolveNameConflicts } from './agent-name-conflicts.ts'
import type { FileProblem } from './file-problem.ts'
import { lineWarning } from './file-problem.ts'

export interface FindAgentsOptions extends AgentFileOptions {
  /** The folder of the project. */
  project: string
  /** The user's home; without it no agents of the user are looked for. */
  home?: string
  /** Only these folders or files, instead of the search path. */
  dirs?: readonly string[]
  /** Packages of the project whose `agents` folder is used. */
  packages?: readonly string[]
  /** False leaves out those that come with Troupe. */
  builtIn?: boolean
}

const BUILT_IN_COLLECTION = 'troupe'
const PROJECT_FOLDERS = ['.troupe/agents', '.claude/agents', '.github/agents', '.amplifier/agents']
const USER_FOLDERS = ['.config/troupe/agents', '.claude/agents', '.copilot/agents', '.amplifier/agents']

/** The folders in a user's home. */
export function userAgentFolders(home: string): string[] {
  return USER_FOLDERS.map((name) => join(home, ...name.split('/')))
}

/** Where agents come from, the first that has a name wins: the project, the user, packages, Troupe itself. */
export interface AgentSource {
  folder: string
  collection?: string
  /** It is no mistake when the folder is missing. */
  optional: boolean
}

/** The folders that are searched, in order. */
export async function agentSources(options: FindAgentsOptions): Promise<AgentSource[]> {
  const { project, home, dirs, packages = [], builtIn = true } = options
  if (dirs) return dirs.map((folder) => ({ folder, optional: false }))
  const optional = (folder: string): AgentSource => ({ folder, optional: true })
  const ofProject = PROJECT_FOLDERS.map((name) => optional(join(project, ...name.split('/'))))
  const ofUser = home === undefined ? [] : userAgentFolders(home).map(optional)
  return [
    ...ofProject,
    // In a home folder that is a project the two share folders.
    ...ofUser.filter(({ folder }) => !ofProject.some((source) => source.folder === folder)),
    ...(await Promise.all(packages.map((name) => packageSource(project, name)))),
    ...(builtIn ? [{ folder: builtInAgentsFolder(), collection: BUILT_IN_COLLECTION, optional: false }] : []),
  ]
}

/** Finds the agents of a project. Each has a name of its own; what was wrong or hidden is among the problems. */
export async function findAgents(options: FindAgentsOptions): Promise<LoadedAgents> {
  const found: LoadedAgents = { agents: [], problems: await untrustedAgentWarnings(options) }
  for (const { folder, collection, optional } of await agentSources(options)) {
    if (optional && !(await pathExists(folder))) continue
    const reading = { tools: options.tools ?? [], ...(collection === undefined ? undefined : { collection }) }
    const { agents, problems } = await readAgentFolder(folder, reading)
    found.agents.push(...agents)
    found.problems.push(...problems)
  }
  return resolveNameConflicts(found)
}

/**
 * What to know before the agents of a project are used: it lies in a folder where agents work. Commands of theirs can make
 * agent folders below that folder, where none were before, and whoever starts here takes them for his own.
 */
export async function untrustedAgentWarnings({ project, home, dirs }: FindAgentsOptions): Promise<FileProblem[]> {
  const around = dirs ? undefined : await enclosingWorkspace(project, home)
  if (around === undefined) return []
  const folders = PROJECT_FOLDERS.map((name) => join(project, ...name.split('/')))
  const there = await Promise.all(folders.map(pathExists))
  const words = `lies in ${around}, where agents work: one of them may have written it; read it before you use it`
  return folders.flatMap((path, index) => (there[index] ? { ...lineWarning(1, words), path } : []))
}

/** The nearest folder above a project in which Troupe keeps its own; a home, and what holds it, is nobody's workspace. */
async function enclosingWorkspace(project: string, home: string | undefined): Promise<string | undefined> {
  for (let folder = dirname(project); dirname(folder) !== folder; folder = dirname(folder)) {
    if (folder === home) return undefined
    if (await pathExists(join(folder, '.troupe'))) return folder
  }
  return undefined
}

/** The agents of one folder or file, without any other place. */
export function loadAgents(folder: string, options: AgentFileOptions = {}): Promise<LoadedAgents> {
  return findAgents({ ...options, project: folder, dirs: [folder] })
}

/** A program's own agents with those that come with Troupe; one whose name is taken is called `troupe:name`. */
export async function withBuiltInAgents(own: readonly Agent[]): Promise<Agent[]> {
  const { agents } = await readAgentFolder(builtInAgentsFolder(), { collection: BUILT_IN_COLLECTION })
  const names = new Set(own.map(({ name }) => name))
  const shipped = agents.map((agent) =>
    names.has(agent.name) ? { ...agent, name: `${BUILT_IN_COLLECTION}:${agent.name}` } : agent,
  )
  return [...own, ...shipped.filter(({ name }) => !names.has(name))]
}

/** The folder of the agents that come with Troupe. */
export function builtInAgentsFolder(): string {
  return fileURLToPath(new URL('../../agents', import.meta.url))
}

/** A package is looked for as Node does: in `node_modules` here and in every folder above. */
async function packageSource(project: string, name: string): Promise<AgentSource> {
  if (!/^(@[\w.-]+\/)?[\w-][\w.-]*$/.test(name)) throw packageError(name, 'that is no name of a package')
  for (let folder = project; ; folder = dirname(folder)) {
    const agents = join(folder, 'node_modules', ...name.split('/'), 'agents')
    if (await pathExists(agents)) return { folder: agents, collection: name, optional: false }
    if (dirname(folder) === folder) throw packageError(name, 'it is not installed, or has no folder `agents`')
  }
}

function packageError(name: string, why: string): TroupeError {
  return new TroupeError('invalid_agent_file', `no agents can be read from the package '${name}': ${why}`, {
    responsible: 'operator',
    hint: 'install it, or take its name out of the configuration',
  })
}

async function pathExists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  )
}
