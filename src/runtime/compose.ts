import { join, resolve } from 'node:path'
import { EmbeddedEngine } from '../engine/embedded-engine.ts'
import { realWorld } from '../engine/real-world.ts'
import { sessionPorts } from '../engine/session-ports.ts'
import { TroupeError } from '../errors.ts'
import type { Policy } from '../judgement/permission/permission-policy.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Embedder } from '../kernel/embedder.ts'
import type { Hooks } from '../kernel/hook.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import { limitsSchema } from '../kernel/limits-schema.ts'
import type { Model, Models } from '../kernel/model.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import type { PriceBook } from '../kernel/price.ts'
import type { RetryPolicy } from '../kernel/retry-policy.ts'
import { createRoster } from '../kernel/roster.ts'
import { formatIssues } from '../kernel/schema.ts'
import type { Tool } from '../kernel/tool.ts'
import type { World } from '../kernel/world.ts'
import type { CassetteOptions } from '../models/cassette-file.ts'
import type { ModelConfig } from '../models/detect.ts'
import { createModelRegistry } from '../models/model-registry.ts'
import { loadPrices } from '../models/pricing.ts'
import { createRetryPolicy } from '../models/retry.ts'
import type { CollaborateConfig } from '../patterns/collaborate/collaborate-config.ts'
import type { Store } from '../store/store.ts'
import { mcpServerKey } from '../tools/mcp/mcp-name.ts'
import type { McpLimits } from '../tools/mcp/mcp-server.ts'
import type { McpServerConfig } from '../tools/mcp/mcp-server-config.ts'
import type { McpServers } from '../tools/mcp/mcp-servers.ts'
import { MCP_TOOL_NAMES } from '../tools/mcp/server-tool-names.ts'
import { agentNames, checkAgentRules, checkPolicy, createPermissions } from '../tools/permissions.ts'
import type { Sandbox, SandboxReport } from '../tools/sandbox/sandbox.ts'
import type { Toolbox, ToolsOptions } from '../tools/tools.ts'
import { builtInPatterns, PATTERN_TOOL_ALIASES, PATTERN_TOOL_NAMES, UNSCOPED_TOOL_NAMES } from './built-in-patterns.ts'
import { DEFAULT_SESSION_POLICY } from './session-policy.ts'

export interface TroupeOptions {
  /** A path, `memory`, or a store of your own. Default: `.troupe` of the current folder. */
  store?: string | Store
  /** `full` syncs every step to the disk, to survive a power cut as a killed process is survived. Default `normal`. */
  durability?: 'normal' | 'full'
  /** Whose data it is. Default `default`. */
  project?: string
  /** What agents use that name no model: `scripted:FILE`, or a model of your own. */
  model?: string | Model
  /** Added to the agents that come with Troupe; the same name replaces. */
  agents?: readonly Agent[]
  tools?: readonly Tool[]
  /** A folder to work in: gives agents the tools that read, search, write, run commands and fetch pages, confined to it. */
  workspace?: ToolsOptions
  /** Tools of the workspace that agents cannot have all the same. */
  disabledTools?: readonly string[]
  /** Ways of working together of your own, beside `task`. */
  patterns?: readonly Pattern[]
  /** Defaults and limits of `collaborate`. */
  collaborate?: Partial<CollaborateConfig>
  /** Compares what people and agents say by meaning. Default: a small model that comes along; `false`: as text only. */
  embedder?: Embedder | false
  hooks?: readonly Hooks[]
  limits?: Partial<Limits>
  /** Rules for tool calls, such as `{ ask: ['Bash'], deny: ['Write(.env*)'] }`; agents' files can only add to them. */
  permissions?: Policy
  engine?: { concurrency?: number; strict?: boolean; world?: World; retryPolicy?: RetryPolicy }
  /** Where models are found and what they cost, instead of what comes with Troupe. */
  models?: ModelOptions
  /** Records every model call into a file, or plays such a file: then no model is asked and no key is needed. */
  cassette?: CassetteOptions
  /** Servers whose tools every agent can have, beside those that agents bring along. */
  mcp?: TroupeMcpOptions
}

export interface TroupeMcpOptions {
  /** By name: `{ command, args, env }`, or `{ type: 'http', url, headers }`. */
  servers?: Readonly<Record<string, McpServerConfig>>
  /** Where their programs run. Default: where commands of the workspace run. */
  sandbox?: Sandbox
  /** Lets programs of servers run without a sandbox, where they can do what this process can. */
  unconfined?: boolean
  /** Variables of the environment that servers in agents' files may use. */
  exposeEnv?: readonly string[]
  limits?: Partial<McpLimits>
}

export interface ModelOptions {
  /** Models of your own, found by their name. */
  custom?: readonly Model[]
  /** Which models the roles `fast`, `general` and `reasoning` stand for. */
  config?: ModelConfig
  prices?: PriceBook
  /** What summarises conversations that grow too long. Default: the role `fast`. */
  summary?: string
  /** Finds models instead of all this. */
  resolver?: Models
}

/** What a troupe is made of. */
export interface RuntimeParts {
  world: World
  project: string
  limits: Limits
  agents: Agent[]
  store: Store
  patterns: Pattern[]
  engine: EmbeddedEngine
  ports: Omit<Ports, 'publish'>
  policy: Policy
  /** Absent when nobody has a server. */
  mcp: McpServers | undefined
  /** Absent without a workspace. */
  toolbox: Toolbox | undefined
}

/** Puts the parts together: a store, an engine, models, agents, tools, and the patterns. */
export async function compose(options: TroupeOptions): Promise<RuntimeParts> {
  const world = options.engine?.world ?? realWorld()
  const agents = await loadAgents(options.agents ?? [])
  const roster = createRoster(agents)
  const limits = parseLimits(DEFAULT_LIMITS, options.limits)
  const shipped = builtInPatterns(options.collaborate)
  const prices = options.models?.prices ?? (await loadPrices(userPriceFiles()))
  // Before the store: a cassette that cannot be read must leave nothing open.
  const asked = await modelPorts(options, world)
  const toolbox = await openToolbox(options.workspace, options.store ?? '.troupe')
  const offered = (toolbox?.tools ?? []).filter(({ name }) => !options.disabledTools?.includes(name))
  const tools = new Map([...offered, ...(options.tools ?? [])].map((tool) => [tool.name, tool]))
  const policy = resolvePolicy(options, agents, tools)
  const mcp = await openMcp(withWorkspaceSandbox(options, toolbox), agents, { tools, world })
  const store = await openStore(options.store ?? '.troupe', options.durability ?? 'normal')
  const patterns = [...shipped.patterns, ...(options.patterns ?? [])]
  const summaryModel = options.models?.summary ?? (options.models?.resolver ? undefined : 'fast')
  const ports = {
    world,
    roster,
    prices,
    ...asked,
    ...(summaryModel === undefined ? undefined : { summaryModel }),
    tools,
    serverToolNames: MCP_TOOL_NAMES,
    sessionPolicy: DEFAULT_SESSION_POLICY,
    ...(mcp ? { prepareTools: mcp.prepare, agentProvidedTools: mcp.agentProvidedTools } : undefined),
    patterns: new Map(patterns.map((pattern) => [pattern.name, pattern])),
    patternTools: shipped.patternTools(options.patterns ?? []),
    ...(await embedderPort(options)),
    hooks: options.hooks ?? [],
    permissions: createPermissions(policy, { aliases: PATTERN_TOOL_ALIASES, agents }),
    ...(toolbox ? { workspace: toolbox.workspace.realPath } : undefined),
    strict: options.engine?.strict ?? false,
    ...sessionPorts(store),
  }
  const engine = new EmbeddedEngine({
    store,
    world,
    ports,
    concurrency: options.engine?.concurrency ?? 16,
    onListenerError: (error) => process.emitWarning(`troupe: ${error.message}`),
  })
  return {
    world,
    project: options.project ?? 'default',
    limits,
    agents,
    store,
    patterns,
    engine,
    ports,
    policy,
    mcp,
    toolbox,
  }
}

/** Whether commands can be confined on this machine, and what is missing. */
export async function sandboxReport(needs: { network: boolean }): Promise<SandboxReport> {
  const { describeSandbox } = await import('../tools/sandbox/describe-sandbox.ts')
  return describeSandbox(needs)
}

/** The store is no business of agents, wherever it lies. */
async function openToolbox(workspace: ToolsOptions | undefined, store: string | Store): Promise<Toolbox | undefined> {
  if (!workspace) return undefined
  const { createTools } = await import('../tools/tools.ts')
  if (typeof store !== 'string' || store === 'memory') return createTools(workspace)
  const { storePathsToHide } = await import('../tools/files/store-location.ts')
  const hidden = storePathsToHide(workspace.workspace, { path: store, isFile: databasePath(store) === store })
  return createTools({
    ...workspace,
    protect: [...(workspace.protect ?? []), resolve(store)],
    hide: [...(workspace.hide ?? []), ...hidden],
  })
}

/** The one that comes along starts its thread when it is first asked. */
async function embedderPort({ embedder }: TroupeOptions): Promise<{ embedder?: Embedder }> {
  if (embedder === false) return {}
  return { embedder: embedder ?? (await import('../knowledge/local-embedder.ts')).localEmbedder() }
}

/** Servers run where commands run, unless somebody says otherwise. */
function withWorkspaceSandbox(
  { mcp, workspace }: TroupeOptions,
  toolbox: Toolbox | undefined,
): TroupeMcpOptions & { hosts: readonly string[] } {
  const hosts = workspace?.network?.hosts ?? []
  return { hosts, ...(toolbox ? { sandbox: toolbox.sandbox } : undefined), ...mcp }
}

/** The servers of the configuration and of agents. Loaded only where there are any. */
async function openMcp(
  { servers = {}, hosts, ...choice }: TroupeMcpOptions & { hosts: readonly string[] },
  agents: readonly Agent[],
  { tools, world }: { tools: Map<string, Tool>; world: World },
): Promise<McpServers | undefined> {
  if (Object.keys(servers).length === 0 && agents.every(({ mcp_servers }) => !mcp_servers)) return undefined
  const { createMcpServers } = await import('../tools/mcp/mcp-servers.ts')
  return createMcpServers({
    servers,
    tools,
    world,
    env: process.env,
    hosts,
    ...choice,
    warn: (problem) => process.emitWarning(problem),
  })
}

/** What runs ask models through: the models themselves, or a cassette before them or in their place. */
async function modelPorts(options: TroupeOptions, world: World): Promise<Pick<Ports, 'models' | 'retryPolicy'>> {
  const models = options.models?.resolver ?? modelsFrom(options, world)
  const retryPolicy = options.engine?.retryPolicy ?? createRetryPolicy({ world })
  if (!options.cassette) return { models, retryPolicy }
  const { withCassette } = await import('../models/cassette-file.ts')
  const { findSecrets, secretEnvValues } = await import('../judgement/redaction.ts')
  const known = secretEnvValues(process.env)
  return withCassette({ models, retryPolicy }, options.cassette, {
    findSecrets: (text) => findSecrets(text, known),
    warn: (message) => process.emitWarning(message),
  })
}

/** Price files of the user's own, which win over the shipped one. */
function userPriceFiles(): string[] {
  return (process.env.TROUPE_PRICES ?? '').split(',').filter((path) => path !== '')
}

function modelsFrom({ model, models }: TroupeOptions, world: World): Models {
  return createModelRegistry({
    world,
    env: process.env,
    customModels: models?.custom ?? [],
    ...(models?.config ? { config: models.config } : undefined),
    ...(model === undefined ? undefined : { fallback: model }),
  })
}

/** With a workspace, what acts is asked for unless somebody says otherwise. Rules that cannot be meant are told. */
function resolvePolicy(options: TroupeOptions, agents: readonly Agent[], tools: ReadonlyMap<string, Tool>): Policy {
  const policy = options.permissions ?? (options.workspace ? { mode: 'ask' as const } : {})
  const own = options.patterns ?? []
  const plain = [...tools.values(), ...own].filter((tool) => !tool.subject).map(({ name }) => name)
  const servers = [options.mcp?.servers ?? {}, ...agents.map(({ mcp_servers = {} }) => mcp_servers)]
  const terms = {
    tools: [...tools.keys(), ...PATTERN_TOOL_NAMES, ...own.map(({ name }) => name)],
    plain: [...plain, ...UNSCOPED_TOOL_NAMES],
    agents: agents.flatMap(agentNames),
    servers: servers.flatMap((each) => Object.keys(each)).map((name) => `mcp__${mcpServerKey(name)}__`),
  }
  const warn = (problem: string) => process.emitWarning(problem)
  checkPolicy(policy, terms, warn)
  checkAgentRules(agents, terms, warn)
  return policy
}

/** A pattern's input, checked and completed. */
export function parsePatternInput(pattern: Pattern, input: unknown): unknown {
  const parsed = pattern.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the input of ${pattern.name} does not fit: ${formatIssues(parsed.error)}`)
}

/** Limits, checked. `max_recursion_depth` is what the specification calls `depth`. */
export function parseLimits(base: Limits, changes: Partial<Limits> & { max_recursion_depth?: number } = {}): Limits {
  const { max_recursion_depth, ...named } = changes
  const depth = max_recursion_depth === undefined ? undefined : { depth: max_recursion_depth }
  const parsed = limitsSchema.safeParse({ ...base, ...depth, ...named })
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the limits do not fit: ${formatIssues(parsed.error)}`, {
    alternatives: Object.keys(DEFAULT_LIMITS),
    hint: `limits are: ${Object.keys(DEFAULT_LIMITS).join(', ')}`,
  })
}

async function openStore(store: string | Store, durability: 'normal' | 'full'): Promise<Store> {
  if (typeof store !== 'string') return store
  if (store === 'memory') return new (await import('../store/memory.ts')).MemoryStore()
  return (await import('../store/sqlite.ts')).openSqlite(databasePath(store), { durability })
}

/** A store is named by its folder, or by the database file itself. */
function databasePath(path: string): string {
  return /\.(db|sqlite3?)$/i.test(path) ? path : join(path, 'troupe.db')
}

async function loadAgents(own: readonly Agent[]): Promise<Agent[]> {
  const { withBuiltInAgents } = await import('../formats/find-agents.ts')
  return withBuiltInAgents(own)
}
