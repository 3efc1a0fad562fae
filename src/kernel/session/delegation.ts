import { TroupeError } from '../../errors.ts'
import type { Agent, AgentPermissions } from '../agent.ts'
import { effectiveTools } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { SessionOpen, SessionPlacement } from '../event.ts'
import { canonicalJson } from '../hash.ts'
import type { Execution } from '../journal/execution.ts'
import type { DelegationRules, PatternTool } from '../pattern.ts'
import type { ToolPorts } from '../ports.ts'
import { limitError } from './budget.ts'

/*
 * Invariants: delegation never escalates privileges.
 * 1. A sub-agent can delegate no deeper than its caller can.
 * 2. It has only tools that its caller has or that a user wrote into its agent file.
 * 3. Inherited tools stay under the caller's permission rules.
 */

interface PlacementRequest {
  caller: Caller | undefined
  internal?: boolean | undefined
  /** The rules of the pattern that performs the session. */
  delegation?: DelegationRules | undefined
}

const STRICT: DelegationRules = { self: 'count', cycles: 'refuse' }

/**
 * The placement of a new session. Throws `depth_exceeded`, `cycle_refused` or `denied`. An internal call of a pattern
 * only has to keep to the depth limit: the caller did not choose its agent.
 */
export function placementFor(
  execution: Execution,
  agent: Agent,
  { caller, internal = false, delegation = STRICT }: PlacementRequest,
): SessionPlacement {
  if (!caller)
    return { parent_session_id: null, depth: 0, self_depth: 0, max_depth: execution.run.limits.depth, path: [] }
  const parent = caller.opening
  const depth = parent.depth + 1
  const path = [...parent.path, parent.agent.name]
  const placement = { parent_session_id: caller.session_id, depth, max_depth: parent.max_depth, path }
  if (delegation.bound === 'own') return { ...placement, max_depth: Math.max(depth, parent.max_depth), self_depth: 0 }
  if (!internal && agent.name === parent.agent.name) {
    if (delegation.self === 'refuse') throw cycleError(agent.name, path)
    if (!maySelfDelegate(execution, parent)) throw selfDepthError(execution, parent)
    return { ...placement, self_depth: parent.self_depth + 1 }
  }
  if (depth > parent.max_depth) throw depthExceededError(parent)
  if (internal) return { ...placement, self_depth: 0 }
  if (delegation.cycles === 'refuse' && path.includes(agent.name)) throw cycleError(agent.name, path)
  requireDelegationAllowed(caller, agent.name)
  return { ...placement, self_depth: 0 }
}

type Level = Pick<SessionPlacement, 'depth' | 'self_depth' | 'max_depth'>

/** An agent may call itself down to `limits.self_depth`, even where `limits.depth` is lower; depth 0 turns delegation off. */
function maySelfDelegate({ run }: Execution, { depth, self_depth, max_depth }: Level): boolean {
  if (max_depth === 0) return false
  return self_depth < run.limits.self_depth && depth < Math.max(max_depth, run.limits.self_depth)
}

/** True if a session at this level may use a pattern with these rules at all. */
function mayDelegate(execution: Execution, level: Level, rules: DelegationRules): boolean {
  if (rules.bound === 'own' || level.depth < level.max_depth) return true
  return (
    rules.self === 'count' && execution.run.limits.self_depth > level.max_depth && maySelfDelegate(execution, level)
  )
}

/** The error for a delegation tool that the session would have but for the depth limit. */
export function delegationDepthError(
  execution: Execution,
  opening: SessionOpen,
  { pattern }: PatternTool,
): TroupeError | undefined {
  const { agent } = opening
  if (!pattern.delegation || mayDelegate(execution, opening, pattern.delegation)) return undefined
  const names = [pattern.name, ...(pattern.aliases ?? [])]
  const lists = (tools: readonly string[]) => tools.some((tool) => names.includes(tool))
  const isIncluded = agent.tools ? lists(agent.tools) : !pattern.on_request || lists(agent.extra_tools ?? [])
  return isIncluded && !lists(agent.exclude_tools ?? []) ? levelError(execution, opening) : undefined
}

/** Names the limit that stops a session at this level. */
function levelError(execution: Execution, opening: SessionOpen): TroupeError {
  return opening.depth > opening.max_depth ? selfDepthError(execution, opening) : depthExceededError(opening)
}

/**
 * The rights of a resumed session: at most those of a new session under the same caller, and read-only while the caller
 * is in plan mode.
 */
export function rightsOnResume(
  execution: Execution,
  before: SessionOpen,
  { key, caller, delegation }: PlacementRequest & { key: string },
): Partial<SessionOpen> {
  if (!caller) return {}
  const placement = placementFor(execution, before.agent, { caller, delegation })
  const levels = Math.min(before.max_depth - before.depth, placement.max_depth - placement.depth)
  const grantable = new Set(toolsFor(execution, before.agent, { key, placement, inherited: caller.tools }))
  const rules = [...(before.inherited_rules ?? []), ...inheritedRules(before.agent, caller)]
  const inherited_rules = [...new Map(rules.map((rule) => [canonicalJson(rule), rule])).values()]
  return {
    max_depth: before.depth + levels,
    ...(inherited_rules.length > 0 ? { inherited_rules } : undefined),
    tools: before.tools.filter((name) => grantable.has(name)),
    ...(caller.planMode ? { read_only: true as const } : undefined),
  }
}

/** Permission rules that come with inherited tools; none if a user listed the agent's tools in its file. */
export function inheritedRules(agent: Agent, caller: Caller | undefined): AgentPermissions[] {
  const ownTools = agent.tools !== undefined && agent.origin?.by !== 'model'
  if (!caller || ownTools) return []
  const { inherited_rules = [], agent: parent } = caller.opening
  return parent.permissions ? [...inherited_rules, parent.permissions] : inherited_rules
}

/** Counts one more sub-session of this caller. Throws `limit_reached` over `limits.breadth`. */
export function countSubSession(execution: Execution, caller: Caller | undefined): void {
  if (!caller) return
  const children = (execution.subSessionCounts.get(caller.session_id) ?? 0) + 1
  if (children > execution.run.limits.breadth) throw limitError('breadth', children - 1, execution.run.limits.breadth)
  execution.subSessionCounts.set(caller.session_id, children)
}

export interface ToolGrantScope {
  key: string
  placement: Level
  /** The caller's tools, or those a top-level agent starts from. */
  inherited: readonly string[] | undefined
  /** Only tools of kind `read`; MCP tools are not among them. */
  readOnly?: boolean | undefined
}

/** The registry names of the tools that an agent has; unknown names are dropped. */
export function toolsFor(
  execution: Execution,
  agent: Agent,
  { key, placement, inherited, readOnly }: ToolGrantScope,
): string[] {
  const { tools, patternTools, serverToolNames, replayOnly } = execution.ports
  // An agent written by a model adds no tools. A replay does: it takes the MCP tools that the session had.
  const agentProvided =
    agent.origin?.by === 'model' && !replayOnly ? [] : (execution.ports.agentProvidedTools?.(agent, key) ?? [])
  const isGrantable = (name: string) =>
    !tools.get(name)?.agent_provided || agentProvided.includes(name) || (!replayOnly && inherited?.includes(name))
  const expand = (names: readonly string[]) => expandToolNames(names, execution.ports).filter(isGrantable)
  const expandedAgent = {
    ...agent,
    exclude_tools: expandToolNames(agent.exclude_tools ?? [], execution.ports),
    ...(agent.tools ? { tools: [...expand(agent.tools), ...agentProvided] } : undefined),
  }
  const isReachable = (name: string) => {
    const pattern = patternTools.get(name)?.pattern
    if (pattern?.isUseful?.(agent, execution.ports.roster) === false) return false
    return !pattern?.delegation || mayDelegate(execution, placement, pattern.delegation)
  }
  const forArtifacts = agent.artifacts && agent.origin?.by !== 'model' ? artifactTools(execution.ports) : []
  const first = inherited ? expand(inherited) : firstTools(execution.ports, agent).filter(isGrantable)
  const base = [...first, ...forArtifacts, ...agentProvided]
  return effectiveTools(expandedAgent, base).filter((name) =>
    readOnly ? tools.get(name)?.kind === 'read' && !serverToolNames.isServerTool(name) : isReachable(name),
  )
}

function requireDelegationAllowed(caller: Caller, name: string): void {
  const { agent } = caller.opening
  if (!agent.agents || agent.agents.includes(name)) return
  throw new TroupeError('denied', `${agent.name} may not delegate to ${name}`, {
    alternatives: agent.agents,
    hint: `delegate to one of its \`agents\`: ${agent.agents.join(', ')}`,
  })
}

function cycleError(name: string, path: readonly string[]): TroupeError {
  const cycle = [...path, name].join(' → ')
  return new TroupeError('cycle_refused', `\`agent\` '${name}' is already active in this delegation chain: ${cycle}`, {
    hint: 'answer from what you have, or delegate to an agent that is not on this path; to allow it, set `task.allow_cycles`',
  })
}

function depthExceededError({ agent, depth, max_depth }: SessionOpen): TroupeError {
  const message = `maximum recursion depth exceeded: ${agent.name} is at depth ${depth}, and \`limits.depth\` is ${max_depth}`
  return new TroupeError('depth_exceeded', message, {
    hint: `do the work yourself; to allow more levels in a new run: --limit max_recursion_depth=${depth + 1}`,
    alternatives: ['depth'],
  })
}

function selfDepthError({ run }: Execution, { agent, depth, self_depth }: SessionOpen): TroupeError {
  const { self_depth: max } = run.limits
  // Above `limits.depth`, `limits.self_depth` is a depth: other agents on the way count, too.
  const level = self_depth < max ? `is at depth ${depth}` : `called itself ${self_depth} times`
  const message = `maximum recursion depth exceeded: ${agent.name} ${level}, and \`limits.self_depth\` is ${max}`
  return new TroupeError('depth_exceeded', message, {
    hint: `do the work yourself; to allow more levels in a new run: --limit self_depth=${depth + 1}`,
    alternatives: ['self_depth'],
  })
}

type ToolRegistry = Pick<ToolPorts, 'tools' | 'patternTools' | 'serverToolNames'>

/** The registered tools that names in an agent's list stand for. Names that match no tool are left out. */
function expandToolNames(names: readonly string[], registry: ToolRegistry): string[] {
  return names.flatMap((name) => {
    const exact = registry.tools.get(name)?.name ?? registry.patternTools.get(name)?.name
    if (exact !== undefined) return exact
    const selects = registry.serverToolNames.selector(name)
    return selects ? serverTools(registry).filter(selects) : []
  })
}

/** The tools of an agent without a `tools` list: all but those that have to be listed by name. */
function defaultTools(registry: ToolRegistry): string[] {
  const own = [...registry.tools.values()]
    .filter(({ name, on_request }) => !on_request && !registry.serverToolNames.isServerTool(name))
    .map(({ name }) => name)
  const common = [...registry.patternTools.values()].filter(({ pattern }) => !pattern.on_request)
  const patterns = new Set(common.map((tool) => tool.name))
  return [...own, ...serverTools(registry), ...patterns]
}

/** The tools of the first agent of a run: the common ones, and those that only agents who ask for them get. */
function firstTools(registry: ToolRegistry, { extra_tools = [], origin }: Agent): string[] {
  const requested = origin?.by === 'model' ? [] : expandToolNames(extra_tools, registry)
  const isOnRequest = (name: string) =>
    registry.tools.get(name)?.on_request ?? registry.patternTools.get(name)?.pattern.on_request
  return [...defaultTools(registry), ...requested.filter(isOnRequest)]
}

function artifactTools({ patternTools }: ToolRegistry): string[] {
  const tools = [...patternTools.values()].filter(({ pattern }) => pattern.on_request === 'or for artifacts')
  return tools.map(({ name }) => name)
}

/** Sorted by name: a prompt must not change with the order in which servers happened to start. */
function serverTools({ tools, serverToolNames }: ToolRegistry): string[] {
  return [...tools.keys()].filter((name) => serverToolNames.isServerTool(name)).sort()
}
