import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import { toAgentName } from '../kernel/agent-name.ts'
import type { AgentFileOptions } from './agent-file.ts'
import type { LoadedAgents } from './agent-folder.ts'
import { BUILT_IN_COLLECTION, builtInAgentsFolder } from './built-in-agents.ts'
import type { FileProblem } from './file-text.ts'
import { lineWarning } from './file-text.ts'
import { isInFolder } from './user-home.ts'

export interface FindAgentsOptions extends AgentFileOptions {
  /** Project folder. */
  project: string
  /** False skips the agents of the project, which a stranger may have written. Default: true. */
  projectAgents?: boolean
  /** Home folder of the user; without it, the user's agents are not searched. */
  home?: string
  /** Folders or files to search instead of the default search path. */
  dirs?: readonly string[]
  /** npm packages whose `agents` folder is searched. */
  packages?: readonly string[]
  /** False skips the agents that come with Troupe. Default: true. */
  builtIn?: boolean
}

/** The folders of a project that agent files are searched in. */
export const PROJECT_AGENT_FOLDERS: readonly string[] = [
  '.troupe/agents',
  '.claude/agents',
  '.github/agents',
  '.amplifier/agents',
]
const USER_FOLDERS = ['.config/troupe/agents', '.claude/agents', '.copilot/agents', '.amplifier/agents']

/** The agent folders in a user's home. */
export function userAgentFolders(home: string): string[] {
  return USER_FOLDERS.map((name) => join(home, ...name.split('/')))
}

/** A folder on the search path. */
export interface AgentSource {
  folder: string
  collection?: string
  /** The folder that its files must be in, after symlinks. */
  within?: string
  /** True when the folder may be missing. */
  optional: boolean
}

/** The search path in order of precedence: project, user, packages, Troupe. */
export async function agentSources(options: FindAgentsOptions): Promise<AgentSource[]> {
  const { project, home, dirs, packages = [], builtIn = true, projectAgents = true } = options
  if (dirs)
    return dirs.map((folder) => ({ folder, optional: false, ...(isInFolder(project, folder) && { within: project }) }))
  const optional = (folder: string): AgentSource => ({ folder, optional: true })
  const names = projectAgents ? PROJECT_AGENT_FOLDERS : []
  const projectSources = names.map((name) => ({ ...optional(join(project, ...name.split('/'))), within: project }))
  const userSources = home === undefined ? [] : userAgentFolders(home).map(optional)
  return [
    ...projectSources,
    // When the project is the home folder, project and user share folders.
    ...userSources.filter(({ folder }) => !projectSources.some((source) => source.folder === folder)),
    ...(await Promise.all(packages.map((name) => packageSource(project, name)))),
    ...(builtIn ? [{ folder: builtInAgentsFolder(), collection: BUILT_IN_COLLECTION, optional: false }] : []),
  ]
}

/** The folders on the default search path that exist, without the built-in one. */
export async function existingAgentFolders(options: FindAgentsOptions): Promise<string[]> {
  return existing((await agentSources({ ...options, builtIn: false })).map(({ folder }) => folder))
}

async function existing(paths: readonly string[]): Promise<string[]> {
  const exists = await Promise.all(paths.map(pathExists))
  return paths.filter((_, index) => exists[index])
}

/** Changes when an agent file of the search path is added, changed or removed. */
export async function agentFilesSignature(options: FindAgentsOptions): Promise<string> {
  const folders = await existingAgentFolders(options)
  if (folders.length === 0) return ''
  const { listAgentFiles } = await import('./agent-folder.ts')
  const lists = await Promise.all(folders.map(listAgentFiles))
  const describe = async (path: string) => {
    const found = await stat(path).catch(() => undefined)
    return `${path} ${found?.size} ${found?.mtimeMs}`
  }
  return (await Promise.all(lists.flatMap(({ files }) => files).map(describe))).join('\n')
}

/** Finds the agents of a project under unique names; invalid and shadowed agents are reported as problems. */
export async function findAgents(options: FindAgentsOptions): Promise<LoadedAgents> {
  const found: LoadedAgents = { agents: [], problems: await untrustedAgentWarnings(options) }
  for (const { folder, collection, within, optional } of await agentSources(options)) {
    if (optional && !(await pathExists(folder))) continue
    const folderOptions = {
      tools: options.tools ?? [],
      ...(collection !== undefined && { collection }),
      ...(within !== undefined && { within }),
    }
    const { readAgentFolder } = await import('./agent-folder.ts')
    const { agents, problems } = await readAgentFolder(folder, folderOptions)
    found.agents.push(...agents)
    found.problems.push(...problems)
  }
  return resolveNameConflicts(found)
}

/**
 * Warns about a project inside another agent workspace: an agent working there may have planted agent files, which a run
 * started here would trust (prompt injection, privilege escalation).
 */
export async function untrustedAgentWarnings({
  project,
  home,
  dirs,
  projectAgents = true,
}: FindAgentsOptions): Promise<FileProblem[]> {
  const workspace = dirs || !projectAgents ? undefined : await enclosingWorkspace(project, home)
  if (workspace === undefined) return []
  const folders = await existing(PROJECT_AGENT_FOLDERS.map((name) => join(project, ...name.split('/'))))
  const message = `is inside the agent workspace ${workspace}: an agent may have written it; review it before use`
  return folders.map((path) => ({ ...lineWarning(1, message), path }))
}

/** The nearest folder above a project with a `.troupe` folder; the home folder and its parents do not count. */
async function enclosingWorkspace(project: string, home: string | undefined): Promise<string | undefined> {
  for (let folder = dirname(project); dirname(folder) !== folder; folder = dirname(folder)) {
    if (folder === home) return undefined
    if (await pathExists(join(folder, '.troupe'))) return folder
  }
  return undefined
}

/** Loads the agents of one folder or file only. */
export function loadAgents(folder: string, options: AgentFileOptions = {}): Promise<LoadedAgents> {
  return findAgents({ ...options, project: folder, dirs: [folder] })
}

/** Finds a package as Node does, in `node_modules` of the project and every folder above. */
async function packageSource(project: string, name: string): Promise<AgentSource> {
  if (!/^(@[\w.-]+\/)?[\w-][\w.-]*$/.test(name)) throw packageError(name, 'not a valid package name')
  for (let folder = project; ; folder = dirname(folder)) {
    const agents = join(folder, 'node_modules', ...name.split('/'), 'agents')
    if (await pathExists(agents)) return { folder: agents, collection: name, optional: false }
    if (dirname(folder) === folder) throw packageError(name, 'it is not installed, or has no `agents` folder')
  }
}

function packageError(name: string, reason: string): TroupeError {
  return new TroupeError(
    'invalid_agent_file',
    `\`packages\`: cannot read agents from the package '${name}': ${reason}`,
    {
      responsible: 'operator',
      hint: 'install the package, or remove it from the configuration',
    },
  )
}

async function pathExists(folder: string): Promise<boolean> {
  return stat(folder).then(
    () => true,
    () => false,
  )
}

/**
 * Makes agent names unique: the first agent keeps the name. A later one of a collection is renamed `collection:name`, any
 * other is dropped; both are reported.
 */
function resolveNameConflicts({ agents, problems }: LoadedAgents): LoadedAgents {
  const byName = new Map<string, Agent>()
  const allProblems: FileProblem[] = [...problems]
  for (const agent of agents) {
    const first = byName.get(agent.name)
    if (!first) {
      byName.set(agent.name, agent)
      continue
    }
    const path = agentPath(agent) ?? ''
    const conflict = `duplicate agent '${agent.name}': the one in ${agentPath(first) ?? 'the program'} is used`
    const fullName = qualifiedName(agent)
    if (fullName === undefined || byName.has(fullName)) {
      allProblems.push({ ...lineWarning(1, conflict), path, agent: agent.name })
      continue
    }
    byName.set(fullName, { ...agent, name: fullName })
    const message = `${conflict}; this one is available as '${fullName}'`
    allProblems.push({ ...lineWarning(1, message), path, agent: fullName })
  }
  return { agents: resolveCallees(byName, allProblems), problems: allProblems }
}

/** The name prefixed with the collection, as in `security:scout`. */
function qualifiedName({ name, origin }: Agent): string | undefined {
  return origin?.by === 'user' && origin.collection !== undefined
    ? toAgentName(`${origin.collection}:${name}`)
    : undefined
}

/** Resolves qualified names in `agent.agents` to the unique names and reports unknown ones. */
function resolveCallees(byName: ReadonlyMap<string, Agent>, allProblems: FileProblem[]): Agent[] {
  const agents = [...byName.values()]
  const byQualifiedName = new Map(agents.map((agent) => [qualifiedName(agent), agent.name]))
  return agents.map((agent) => {
    if (!agent.agents) return agent
    const missing = agent.agents.filter((name) => !byName.has(name) && !byQualifiedName.has(name))
    if (missing.length > 0) {
      const message = `'agents' names unknown agents: ${missing.map((name) => `'${name}'`).join(', ')}`
      allProblems.push({ ...lineWarning(1, message), path: agentPath(agent) ?? '', agent: agent.name })
    }
    return {
      ...agent,
      agents: agent.agents.map((name) => (byName.has(name) ? name : (byQualifiedName.get(name) ?? name))),
    }
  })
}

function agentPath({ origin }: Agent): string | undefined {
  return origin?.by === 'user' ? origin.path : undefined
}
