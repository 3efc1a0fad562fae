import { resolve } from 'node:path'
import { createRoster } from '../engine/create-roster.ts'
import { realWorld } from '../engine/real-world.ts'
import { TroupeError } from '../errors.ts'
import {
  BUILT_IN_COLLECTION,
  hasReservedName,
  RESERVED_NAME_HINT,
  withBuiltInAgents,
} from '../formats/built-in-agents.ts'
import type { FindAgentsOptions } from '../formats/find-agents.ts'
import { programToolNames } from '../formats/program-tools.ts'
import { userHome } from '../formats/user-home.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import type { Roster } from '../kernel/roster.ts'
import type { Tool } from '../kernel/tool.ts'
import type { Toolbox } from '../tools/tools.ts'
import { adaptOptions, CustomModels } from './adapt-options.ts'
import { BUILT_IN_PATTERNS } from './built-in-patterns.ts'
import { checkOptionNames } from './check-option-names.ts'
import { issueWarning } from './issue-warning.ts'
import type { Lazy } from './lazy.ts'
import { lazy } from './lazy.ts'
import {
  customPricesPort,
  idleTimeoutPort,
  modelPorts,
  openEmbedder,
  rateLimiterPort,
  summaryModelPort,
} from './model-ports.ts'
import { checkStore, openStore } from './open-store.ts'
import type { PatternRegistry } from './pattern-registry.ts'
import { performerPort } from './performer-port.ts'
import type { CheckedPorts, ExecutionParts, RuntimeParts } from './runtime-parts.ts'
import { enabledTools, openMcp, openToolbox, permissionPolicy, redactorPort, toolsByName } from './tool-ports.ts'
import type { AdaptedOptions, TroupeOptions } from './troupe-options.ts'

/**
 * Checks the options, opens the store, and creates models, agents and tools from the options. Patterns and engine load when they
 * are needed: they and their schema library are most of the code.
 */
export async function compose(input: TroupeOptions, folder?: string): Promise<RuntimeParts> {
  checkOptionNames(input)
  const custom = new CustomModels()
  const given = await adaptOptions(input, custom)
  checkStore(given)
  const world = given.engine?.world ?? realWorld()
  const ownAgents = await loadAgents(given, folder)
  const agents = await withBuiltInAgents(ownAgents)
  rejectBuiltInNames(ownAgents, agents)
  const roster = await rosterFrom(agents, given, folder)
  const options = await withTeamFiles(given, roster)
  const registry = lazy(async () => (await import('./pattern-registry.ts')).loadPatternRegistry(options))
  const patterns = needsPatterns(options, ownAgents) ? await registry.get() : undefined
  const limits = await limitsFrom(options, patterns)
  const performers = performerPort(options, agents)
  const prices = await customPricesPort(options)
  // Before the store: an invalid cassette must not leave an open store behind.
  const models = await modelPorts(options, { world, custom: custom.byName })
  const toolbox = await openToolbox(options)
  const tools = toolsByName(options, toolbox)
  if (patterns) await checkNames(options, { agents, tools, toolbox, patterns })
  if (ownAgents.some(namesTools)) {
    const { checkAgentTools } = await import('./check-agent-tools.ts')
    await checkAgentTools(options, ownAgents, { tools, patterns: registry.get })
  }
  const mcp = await openMcp(options, { agents, tools, world, toolbox })
  const store = await openStore(options, () => world.now())
  const checkedPorts: CheckedPorts = {
    roster,
    tools,
    ...prices,
    ...models,
    ...performers,
    ...rateLimiterPort(options, { world, store }),
    ...summaryModelPort(options),
    ...idleTimeoutPort(options),
    ...(await redactorPort(options)),
  }
  const project = options.project ?? 'default'
  const embedder = lazy(() => openEmbedder(options))
  // It is closed with the troupe, used or not.
  if (options.embedder) await embedder.get()
  const knowledge = lazy(async () => {
    const { knowledgeByProject } = await import('../knowledge/embedded-knowledge.ts')
    return knowledgeByProject({ store, embedder: await embedder.get(), newRevision: () => world.randomHex(8) })
  })
  const runtime = {
    customModels: custom,
    world,
    project,
    limits,
    agents,
    store,
    policy: permissionPolicy(options),
    mcp,
    toolbox,
    checkedPorts,
    embedder,
    knowledge,
  }
  const host = lazy(async () => {
    const { createRunHost } = await import('./run-host.ts')
    const workspaceTools = enabledTools(options, toolbox)
    return createRunHost({
      options,
      customModels: custom.byName,
      roster,
      workspaceTools,
      workspace: toolbox?.workspace,
    })
  })
  const execution = lazy(async () => {
    const { composeExecution } = await import('./compose-execution.ts')
    return composeExecution({ options, runtime, registry: await registry.get(), host: await host.get() })
  })
  if (options.engine) await loadEverything(registry, execution, knowledge)
  return { ...runtime, registry, host, execution }
}

function namesTools({ tools, extra_tools, exclude_tools }: Agent): boolean {
  return [tools, extra_tools, exclude_tools].some((list) => list !== undefined && list.length > 0)
}

async function withTeamFiles(options: AdaptedOptions, { names }: Roster): Promise<AdaptedOptions> {
  return options.team?.teams ? (await import('./read-team-files.ts')).readTeamFiles(options, names) : options
}

/** Reading files during a run whose time is simulated would move its clock. */
async function loadEverything(
  registry: Lazy<PatternRegistry>,
  execution: Lazy<ExecutionParts>,
  knowledge: Lazy<unknown>,
): Promise<void> {
  await import('./run-controller.ts')
  await import('../engine/reopen-run.ts')
  await (await import('../performers/start-turns.ts')).loadPerformerTurns()
  await knowledge.get()
  await (await execution.get()).ports.loadRequests()
  const patterns = await (await registry.get()).complete()
  await Promise.all(patterns.map((pattern) => pattern.load?.()))
}

/** True if options have to be checked against the patterns, whose names must be unique and may be used in rules. */
function needsPatterns(options: AdaptedOptions, agents: readonly Agent[]): boolean {
  const { patterns = [], tools = [], permissions } = options
  const configs: Readonly<Record<string, unknown>> = { ...options }
  return (
    patterns.length > 0 ||
    tools.length > 0 ||
    permissions !== undefined ||
    agents.some((agent) => agent.permissions) ||
    Object.keys(BUILT_IN_PATTERNS).some((name) => configs[name] !== undefined)
  )
}

interface CheckedNames {
  agents: readonly Agent[]
  tools: ReadonlyMap<string, Tool>
  toolbox: Toolbox | undefined
  patterns: PatternRegistry
}

async function checkNames(options: AdaptedOptions, { agents, tools, toolbox, patterns }: CheckedNames): Promise<void> {
  const { checkPermissions, checkTools } = await import('./check-options.ts')
  checkTools(options, enabledTools(options, toolbox), patterns)
  checkPermissions(options, agents, { tools, patterns })
}

/** The limits of the options, and those that settings of patterns change. */
async function limitsFrom({ limits }: AdaptedOptions, registry: PatternRegistry | undefined): Promise<Limits> {
  if (limits === undefined && registry === undefined) return DEFAULT_LIMITS
  const { parseLimits } = await import('../engine/parse-limits.ts')
  return parseLimits({ ...DEFAULT_LIMITS, ...registry?.limits }, limits)
}

/** An agent file may replace a built-in agent on purpose; in a program the same name is a mistake that nobody would see. */
function rejectBuiltInNames(own: readonly Agent[], agents: readonly Agent[]): void {
  const names = new Set(agents.map(({ name }) => name))
  const taken = own.find(({ name, origin }) => !origin && names.has(`${BUILT_IN_COLLECTION}:${name}`))
  if (taken) {
    throw new TroupeError('invalid_input', `\`agents\`: the name '${taken.name}' is that of a built-in agent`, {
      hint: 'choose another name; an agent file may replace a built-in agent',
    })
  }
  const reserved = own.find(hasReservedName)
  if (reserved) {
    throw new TroupeError('invalid_input', `\`agents\`: the name '${reserved.name}' is reserved for a built-in agent`, {
      hint: RESERVED_NAME_HINT,
    })
  }
}

async function rosterFrom(
  agents: readonly Agent[],
  options: AdaptedOptions,
  folder: string | undefined,
): Promise<Roster> {
  const search = agentSearch(options, folder)
  if (!search) return createRoster(agents)
  const { agentFilesSignature } = await import('../formats/find-agents.ts')
  const { createLiveRoster } = await import('./live-roster.ts')
  return createLiveRoster(agents, {
    signature: () => agentFilesSignature(search),
    load: () =>
      loadAgents(options, folder).catch((error: Error) => {
        issueWarning(`troupe: ${error.message}`)
        return []
      }),
  })
}

/** Where to look for agent files; `undefined` if the program has none. */
function agentSearch(options: AdaptedOptions, folder: string | undefined): FindAgentsOptions | undefined {
  const { agents = [], trust } = options
  const dirs = agents.filter((agent) => typeof agent === 'string')
  if (dirs.length === 0 && folder === undefined && trust !== 'project' && trust !== 'recorded') return undefined
  const tools = programToolNames(options)
  const search = dirs.length > 0 ? { dirs } : { home: userHome() }
  return { project: folder ?? process.cwd(), builtIn: false, projectAgents: trust !== 'nothing', tools, ...search }
}

/** The agents of the options, and those in agent files. An agent of the options hides one in a file. */
async function loadAgents(options: AdaptedOptions, folder: string | undefined): Promise<Agent[]> {
  const inline = (options.agents ?? []).filter((agent) => typeof agent !== 'string')
  const search = agentSearch(options, folder)
  if (!search) return inline
  const { findAgents } = await import('../formats/find-agents.ts')
  const found = await findAgents(options.trust === 'recorded' ? await trustedSearch(search) : search)
  for (const { level, path, line, message } of found.problems)
    if (level === 'error') issueWarning(`troupe: ${path}:${line}: ${message}`)
  const names = new Set(inline.map(({ name }) => name))
  return [...inline, ...found.agents.filter(({ name }) => !names.has(name))]
}

/** A file that was added or changed since the operator trusted the folder takes effect nowhere, not even in a process that runs already. */
async function trustedSearch({ dirs, ...search }: FindAgentsOptions): Promise<FindAgentsOptions> {
  const { existingAgentFolders, PROJECT_AGENT_FOLDERS } = await import('../formats/find-agents.ts')
  const { configFileIn, PROJECT_CONFIG } = await import('../formats/config-file.ts')
  const { project } = search
  // Most folders have nothing to be trusted.
  if ((await existingAgentFolders({ project })).length === 0 && !(await configFileIn(project, PROJECT_CONFIG)))
    return { ...search, ...(dirs && { dirs }) }
  const { agentPathsOfProject, isProjectTrusted } = await import('../formats/project-trust.ts')
  if (await isProjectTrusted(search.project)) return { ...search, ...(dirs && { dirs }) }
  process.emitWarning(
    `troupe: agent files of ${search.project} have changed since they were trusted; the new content is not used. The next command asks about it.`,
  )
  const ofProject = [
    ...PROJECT_AGENT_FOLDERS.map((name) => resolve(search.project, name)),
    ...(await agentPathsOfProject(search.project)),
  ]
  const others = dirs?.filter((dir) => !ofProject.includes(resolve(dir)))
  return { ...search, projectAgents: false, ...(others && { dirs: others }) }
}
