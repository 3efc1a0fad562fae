import { join, resolve } from 'node:path'
import { EmbeddedEngine } from './engine/embedded.ts'
import { realWorld } from './engine/real-world.ts'
import { sessionPorts } from './engine/sessions.ts'
import { TroupeError } from './errors.ts'
import type { Policy } from './judgement/permission.ts'
import type { Agent } from './kernel/agent.ts'
import type { Embedder } from './kernel/embedder.ts'
import type { Hooks } from './kernel/hook.ts'
import type { Limits } from './kernel/limits.ts'
import { DEFAULT_LIMITS } from './kernel/limits.ts'
import { limitsSchema } from './kernel/limits-schema.ts'
import type { Model, Models } from './kernel/model.ts'
import type { Pacing } from './kernel/pacing.ts'
import type { Pattern } from './kernel/pattern.ts'
import type { Ports } from './kernel/ports.ts'
import type { PriceBook } from './kernel/price.ts'
import { createRoster } from './kernel/roster.ts'
import { problemsOf } from './kernel/schema.ts'
import type { Tool } from './kernel/tool.ts'
import type { World } from './kernel/world.ts'
import type { CassetteChoice } from './models/cassette-file.ts'
import type { ModelConfig } from './models/detect.ts'
import { createModels } from './models/models.ts'
import { createPacing } from './models/pacing.ts'
import { loadPrices } from './models/pricing.ts'
import type { CollaborateConfig } from './patterns/collaborate/config.ts'
import { PLAIN_TOOL_NAMES, shippedPatterns, TOOL_ALIASES, TOOL_NAMES } from './shipped.ts'
import type { Store } from './store/store.ts'
import type { Mcp } from './tools/mcp/mcp.ts'
import type { McpLimits } from './tools/mcp/server.ts'
import type { McpServerConfig } from './tools/mcp/server-config.ts'
import { serverKey } from './tools/mcp/server-name.ts'
import { agentNames, checkAgentRules, checkPolicy, permissionsOf } from './tools/permissions.ts'
import type { Sandbox, SandboxReport } from './tools/sandbox/sandbox.ts'
import type { Toolbox, ToolsOptions } from './tools/tools.ts'

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
  unavailable?: readonly string[]
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
  engine?: { concurrency?: number; strict?: boolean; world?: World; pacing?: Pacing }
  /** Where models are found and what they cost, instead of what comes with Troupe. */
  models?: ModelOptions
  /** Records every model call into a file, or plays such a file: then no model is asked and no key is needed. */
  cassette?: CassetteChoice
  /** Servers whose tools every agent can have, beside those that agents bring along. */
  mcp?: McpChoice
}

export interface McpChoice {
  /** By name: `{ command, args, env }`, or `{ type: 'http', url, headers }`. */
  servers?: Readonly<Record<string, McpServerConfig>>
  /** Where their programs run. Default: where commands of the workspace run. */
  sandbox?: Sandbox
  /** Lets programs of servers run without a sandbox, where they can do what this process can. */
  unconfined?: boolean
  /** Variables of the environment that servers in agents' files may use. */
  lend?: readonly string[]
  limits?: Partial<McpLimits>
}

export interface ModelOptions {
  /** Models of your own, found by their name. */
  known?: readonly Model[]
  /** Which models the roles `fast`, `general` and `reasoning` stand for. */
  config?: ModelConfig
  prices?: PriceBook
  /** What summarises conversations that grow too long. Default: the role `fast`. */
  summary?: string
  /** Finds models instead of all this. */
  find?: Models
}

/** What a troupe is made of. */
export interface Parts {
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
  mcp: Mcp | undefined
  /** Absent without a workspace. */
  toolbox: Toolbox | undefined
}

/** Puts the parts together: a store, an engine, models, agents, tools, and the patterns. */
export async function compose(options: TroupeOptions): Promise<Parts> {
  const world = options.engine?.world ?? realWorld()
  const agents = await rosterAgents(options.agents ?? [])
  const roster = createRoster(agents)
  const limits = limitsOf(DEFAULT_LIMITS, options.limits)
  const shipped = shippedPatterns(options.collaborate)
  const prices = options.models?.prices ?? (await loadPrices(ownPrices()))
  // Before the store: a cassette that cannot be read must leave nothing open.
  const asked = await modelPorts(options, world)
  const toolbox = await toolboxOf(options.workspace, options.store ?? '.troupe')
  const offered = (toolbox?.tools ?? []).filter(({ name }) => !options.unavailable?.includes(name))
  const tools = new Map([...offered, ...(options.tools ?? [])].map((tool) => [tool.name, tool]))
  const policy = policyOf(options, agents, tools)
  const mcp = await serversOf(confined(options, toolbox), agents, { tools, world })
  const store = await openStore(options.store ?? '.troupe', options.durability ?? 'normal')
  const patterns = [...shipped.patterns, ...(options.patterns ?? [])]
  const summaryModel = options.models?.summary ?? (options.models?.find ? undefined : 'fast')
  const ports = {
    world,
    roster,
    prices,
    ...asked,
    ...(summaryModel === undefined ? undefined : { summaryModel }),
    tools,
    ...(mcp ? { prepare: mcp.prepare, broughtBy: mcp.toolsOf } : undefined),
    patterns: new Map(patterns.map((pattern) => [pattern.name, pattern])),
    patternTools: shipped.toolsWith(options.patterns ?? []),
    ...(await embedderOf(options)),
    hooks: options.hooks ?? [],
    permissions: permissionsOf(policy, { aliases: TOOL_ALIASES, agents }),
    ...(toolbox ? { workspace: toolbox.workspace.real } : undefined),
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
  const { describeSandbox } = await import('./tools/sandbox/describe.ts')
  return describeSandbox(needs)
}

/** The store is no business of agents, wherever it lies. */
async function toolboxOf(workspace: ToolsOptions | undefined, store: string | Store): Promise<Toolbox | undefined> {
  if (!workspace) return undefined
  const { createTools } = await import('./tools/tools.ts')
  if (typeof store !== 'string' || store === 'memory') return createTools(workspace)
  const { hiddenFor } = await import('./tools/files/store-place.ts')
  const hidden = hiddenFor(workspace.workspace, { path: store, isFile: databaseIn(store) === store })
  return createTools({
    ...workspace,
    protect: [...(workspace.protect ?? []), resolve(store)],
    hide: [...(workspace.hide ?? []), ...hidden],
  })
}

/** The one that comes along starts its thread when it is first asked. */
async function embedderOf({ embedder }: TroupeOptions): Promise<{ embedder?: Embedder }> {
  if (embedder === false) return {}
  return { embedder: embedder ?? (await import('./knowledge/embedder.ts')).embeddedEmbedder() }
}

/** Servers run where commands run, unless somebody says otherwise. */
function confined(
  { mcp, workspace }: TroupeOptions,
  toolbox: Toolbox | undefined,
): McpChoice & { hosts: readonly string[] } {
  const hosts = workspace?.network?.hosts ?? []
  return { hosts, ...(toolbox ? { sandbox: toolbox.sandbox } : undefined), ...mcp }
}

/** The servers of the configuration and of agents. Loaded only where there are any. */
async function serversOf(
  { servers = {}, hosts, ...choice }: McpChoice & { hosts: readonly string[] },
  agents: readonly Agent[],
  { tools, world }: { tools: Map<string, Tool>; world: World },
): Promise<Mcp | undefined> {
  if (Object.keys(servers).length === 0 && agents.every(({ mcp_servers }) => !mcp_servers)) return undefined
  const { createMcp } = await import('./tools/mcp/mcp.ts')
  return createMcp({
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
async function modelPorts(options: TroupeOptions, world: World): Promise<Pick<Ports, 'models' | 'pacing'>> {
  const models = options.models?.find ?? modelsOf(options, world)
  const pacing = options.engine?.pacing ?? createPacing({ world })
  if (!options.cassette) return { models, pacing }
  const { withCassette } = await import('./models/cassette-file.ts')
  const { secretsIn, secretValues } = await import('./judgement/redaction.ts')
  const known = secretValues(process.env)
  return withCassette({ models, pacing }, options.cassette, {
    secretsIn: (text) => secretsIn(text, known),
    warn: (message) => process.emitWarning(message),
  })
}

/** Price files of the user's own, which win over the shipped one. */
function ownPrices(): string[] {
  return (process.env.TROUPE_PRICES ?? '').split(',').filter((path) => path !== '')
}

function modelsOf({ model, models }: TroupeOptions, world: World): Models {
  return createModels({
    world,
    env: process.env,
    known: models?.known ?? [],
    ...(models?.config ? { config: models.config } : undefined),
    ...(model === undefined ? undefined : { fallback: model }),
  })
}

/** With a workspace, what acts is asked for unless somebody says otherwise. Rules that cannot be meant are told. */
function policyOf(options: TroupeOptions, agents: readonly Agent[], tools: ReadonlyMap<string, Tool>): Policy {
  const policy = options.permissions ?? (options.workspace ? { mode: 'ask' as const } : {})
  const own = options.patterns ?? []
  const plain = [...tools.values(), ...own].filter((tool) => !tool.subject).map(({ name }) => name)
  const servers = [options.mcp?.servers ?? {}, ...agents.map(({ mcp_servers = {} }) => mcp_servers)]
  const terms = {
    tools: [...tools.keys(), ...TOOL_NAMES, ...own.map(({ name }) => name)],
    plain: [...plain, ...PLAIN_TOOL_NAMES],
    agents: agents.flatMap(agentNames),
    servers: servers.flatMap((each) => Object.keys(each)).map((name) => `mcp__${serverKey(name)}__`),
  }
  const warn = (problem: string) => process.emitWarning(problem)
  checkPolicy(policy, terms, warn)
  checkAgentRules(agents, terms, warn)
  return policy
}

/** A pattern's input, checked and completed. */
export function inputOf(pattern: Pattern, input: unknown): unknown {
  const parsed = pattern.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the input of ${pattern.name} does not fit: ${problemsOf(parsed.error)}`)
}

/** Limits, checked. `max_recursion_depth` is what the specification calls `depth`. */
export function limitsOf(base: Limits, changes: Partial<Limits> & { max_recursion_depth?: number } = {}): Limits {
  const { max_recursion_depth, ...named } = changes
  const depth = max_recursion_depth === undefined ? undefined : { depth: max_recursion_depth }
  const parsed = limitsSchema.safeParse({ ...base, ...depth, ...named })
  if (parsed.success) return parsed.data
  throw new TroupeError('invalid_input', `the limits do not fit: ${problemsOf(parsed.error)}`, {
    alternatives: Object.keys(DEFAULT_LIMITS),
    hint: `limits are: ${Object.keys(DEFAULT_LIMITS).join(', ')}`,
  })
}

async function openStore(store: string | Store, durability: 'normal' | 'full'): Promise<Store> {
  if (typeof store !== 'string') return store
  if (store === 'memory') return new (await import('./store/memory.ts')).MemoryStore()
  return (await import('./store/sqlite.ts')).openSqlite(databaseIn(store), { durability })
}

/** A store is named by its folder, or by the database file itself. */
function databaseIn(path: string): string {
  return /\.(db|sqlite3?)$/i.test(path) ? path : join(path, 'troupe.db')
}

async function rosterAgents(own: readonly Agent[]): Promise<Agent[]> {
  const { withShipped } = await import('./formats/find-agents.ts')
  return withShipped(own)
}
