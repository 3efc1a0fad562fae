import { EmbeddedEngine } from '../engine/embedded-engine.ts'
import type { Engine, EngineParts } from '../engine/engine.ts'
import { realWorld } from '../engine/real-world.ts'
import { sessionPorts } from '../engine/session-ports.ts'
import type { Policy } from '../judgement/permission/permission-policy.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Limits } from '../kernel/limits.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { createRoster } from '../kernel/roster.ts'
import { parseLimits } from '../kernel/run-input.ts'
import type { World } from '../kernel/world.ts'
import { startTurns } from '../performers/start-turns.ts'
import type { Store } from '../store/store.ts'
import type { McpServers } from '../tools/mcp/mcp-servers.ts'
import { MCP_TOOL_NAMES } from '../tools/mcp/mcp-tool-names.ts'
import { createPermissions } from '../tools/permissions.ts'
import type { Toolbox } from '../tools/tools.ts'
import { DEFAULT_SESSION_POLICY } from './default-session-policy.ts'
import { embedderPort, modelPorts, pricesFrom, rateLimiterPort, summaryModelPort } from './model-ports.ts'
import { checkStoreAddress, openStore } from './open-store.ts'
import { createPatternRegistry } from './pattern-registry.ts'
import { performerPort } from './performer-port.ts'
import { openMcp, openToolbox, permissionPolicy, redactorPort, toolsByName } from './tool-ports.ts'
import type { TroupeOptions } from './troupe-options.ts'

/** Bounds memory. A run that waits for a model needs little else; `limits.concurrency` bounds its model requests. */
const DEFAULT_CONCURRENCY = 1000

export interface RuntimeParts {
  world: World
  project: string
  limits: Limits
  agents: Agent[]
  store: Store
  patterns: Pattern[]
  engine: Engine
  ports: Omit<Ports, 'publish'>
  policy: Policy
  /** `undefined` if no MCP server is configured. */
  mcp: McpServers | undefined
  /** `undefined` without a workspace. */
  toolbox: Toolbox | undefined
}

/** Creates the store, the engine, models, agents, tools and patterns from the options. */
export async function compose(options: TroupeOptions): Promise<RuntimeParts> {
  checkStoreAddress(options)
  const world = options.engine?.world ?? realWorld()
  const agents = await loadAgents(options.agents ?? [])
  const roster = createRoster(agents)
  const limits = parseLimits(DEFAULT_LIMITS, options.limits)
  const registry = createPatternRegistry(options)
  const { patterns, tools: patternTools, aliases, agentTools } = registry
  // Reading files during a run whose time is simulated would move its clock.
  if (options.engine?.world) await Promise.all(patterns.map((pattern) => pattern.load?.()))
  const performers = performerPort(options, agents)
  const prices = await pricesFrom(options)
  // Before the store: an invalid cassette must not leave an open store behind.
  const models = await modelPorts(options, world)
  const toolbox = await openToolbox(options)
  const tools = toolsByName(options, toolbox, registry)
  const policy = permissionPolicy(options, agents, { tools, patternTools })
  const mcp = await openMcp(options, { agents, tools, world, toolbox })
  const store = await openStore(options, () => world.now())
  const ports = {
    world,
    roster,
    prices,
    ...models,
    ...performers,
    ...rateLimiterPort(options, { world, store }),
    ...summaryModelPort(options),
    tools,
    serverToolNames: MCP_TOOL_NAMES,
    sessionPolicy: DEFAULT_SESSION_POLICY,
    ...(mcp ? { prepareTools: mcp.prepare, agentProvidedTools: mcp.agentProvidedTools } : undefined),
    patterns: new Map(patterns.map((pattern) => [pattern.name, pattern])),
    patternTools,
    ...(await embedderPort(options)),
    hooks: options.hooks ?? [],
    ...(await redactorPort(options)),
    permissions: createPermissions(policy, { aliases, agentTools, agents }),
    ...(toolbox ? { workspace: toolbox.workspace.realPath } : undefined),
    strict: options.engine?.strict ?? false,
    ...sessionPorts(store),
  }
  const engine = createEngine(options, { store, world, ports })
  const project = options.project ?? 'default'
  return { world, project, limits, agents, store, patterns, engine, ports, policy, mcp, toolbox }
}

function createEngine(
  options: TroupeOptions,
  parts: { store: Store; world: World; ports: Omit<Ports, 'publish'> },
): Engine {
  const create = options.engine?.create ?? ((all: EngineParts) => new EmbeddedEngine(all))
  return create({
    ...parts,
    startTurns,
    concurrency: options.engine?.concurrency ?? DEFAULT_CONCURRENCY,
    onListenerError: (error) => process.emitWarning(`troupe: ${error.message}`),
  })
}

async function loadAgents(agents: readonly Agent[]): Promise<Agent[]> {
  const { withBuiltInAgents } = await import('../formats/built-in-agents.ts')
  return withBuiltInAgents(agents)
}
