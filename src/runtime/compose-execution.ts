import { EmbeddedEngine } from '../engine/embedded-engine.ts'
import type { Engine, EngineParts } from '../engine/engine.ts'
import { sessionPorts } from '../engine/session-ports.ts'
import type { RunHost } from '../judgement/needs/run-needs.ts'
import type { Event } from '../kernel/event.ts'
import type { Ports } from '../kernel/ports.ts'
import { loadPrices } from '../models/pricing.ts'
import { startTurns } from '../performers/start-turns.ts'
import { MCP_TOOL_NAMES } from '../tools/mcp/mcp-tool-names.ts'
import { createPermissions } from '../tools/permissions.ts'
import type { Toolbox } from '../tools/tools.ts'
import { DEFAULT_SESSION_POLICY } from './default-session-policy.ts'
import { issueWarning } from './issue-warning.ts'
import { lazy } from './lazy.ts'
import type { PatternRegistry } from './pattern-registry.ts'
import type { ExecutionParts, RuntimeParts } from './runtime-parts.ts'
import { lazyKnowledge } from './troupe-knowledge.ts'
import type { AdaptedOptions } from './troupe-options.ts'
import type { WorkspacePorts } from './workspace-ports.ts'

/** Bounds memory. A run that waits for a model needs little else; `limits.concurrency` bounds its model requests. */
const DEFAULT_CONCURRENCY = 1000

export interface ExecutionDeps {
  options: AdaptedOptions
  runtime: Omit<RuntimeParts, 'registry' | 'host' | 'execution'>
  registry: PatternRegistry
  host: RunHost
}

export async function composeExecution({ options, runtime, registry, host }: ExecutionDeps): Promise<ExecutionParts> {
  const { world, store, policy, agents, mcp, toolbox, checkedPorts } = runtime
  const { patterns, tools: patternTools, aliases, agentTools, projections } = registry
  await store.keepTables(projections)
  const embedder = await runtime.embedder.get()
  const { hooks = [] } = options
  const ports = {
    world,
    ...checkedPorts,
    prices: checkedPorts.prices ?? (await loadPrices()),
    serverToolNames: MCP_TOOL_NAMES,
    sessionPolicy: DEFAULT_SESSION_POLICY,
    loadRequests: lazy(async () => (await import('../requests/request-answer.ts')).requestAnswer).get,
    ...(mcp ? { prepareTools: mcp.prepare, agentProvidedTools: mcp.agentProvidedTools } : undefined),
    patterns: new Map(patterns.map((pattern) => [pattern.name, pattern])),
    patternTools,
    host,
    ...(embedder ? { embedder } : undefined),
    knowledge: (project: string) => lazyKnowledge(runtime.knowledge, project),
    hooks,
    observers: hooks.filter(({ onEvent }) => onEvent).map((each) => (event: Event) => each.onEvent?.(event)),
    permissions: createPermissions(policy, { aliases, agentTools, agents }),
    ...profilePort(toolbox),
    ...(await workspacePortsOf(options, runtime)),
    strict: options.engine?.strict ?? false,
    ...sessionPorts(store),
  }
  return { patterns, ports, engine: await createEngine(options, { store, world, ports }) }
}

/** Imported with a workspace only, whose tools it needs: without one they would be a quarter of what a first run loads. */
async function workspacePortsOf(
  options: AdaptedOptions,
  { toolbox, checkedPorts }: Pick<RuntimeParts, 'toolbox' | 'checkedPorts'>,
): Promise<Partial<WorkspacePorts>> {
  if (!toolbox) return {}
  return (await import('./workspace-ports.ts')).workspacePorts(options, { toolbox, checkedPorts })
}

/** Read again for every use: the profile file may have been edited. Without a workspace it is empty. */
function profilePort(toolbox: Toolbox | undefined): Pick<Ports, 'projectProfile'> {
  return {
    projectProfile: async () => {
      if (!toolbox) return (await import('../formats/project-profile/project-profile.ts')).UNKNOWN_PROFILE
      const { loadProjectProfile } = await import('../formats/project-profile/load-project-profile.ts')
      return loadProjectProfile(toolbox.workspace.realPath)
    },
  }
}

async function createEngine(
  options: AdaptedOptions,
  parts: Pick<EngineParts, 'store' | 'world' | 'ports'>,
): Promise<Engine> {
  const engineParts = {
    ...parts,
    startTurns,
    concurrency: options.engine?.concurrency ?? DEFAULT_CONCURRENCY,
    onListenerError: (error: Error) => issueWarning(`troupe: ${error.message}`),
  }
  if (options.execute !== false) return new EmbeddedEngine(engineParts)
  const { SubmittingEngine } = await import('../engine/submitting-engine.ts')
  // Without patterns it executes nothing, and ends what is cancelled as any process does that lacks the pattern.
  const canceller = new EmbeddedEngine({ ...engineParts, ports: { ...parts.ports, patterns: new Map() } })
  return new SubmittingEngine(parts, canceller)
}
