import { TroupeError } from '../../errors.ts'
import type { Agent, AgentPermissions } from '../agent.ts'
import { effectiveTools } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { SessionOpen } from '../event.ts'
import { canonicalJson } from '../hash.ts'
import type { Execution } from '../journal/execution.ts'
import { limitError } from './budget.ts'
import { defaultTools, expandToolNames } from './expand-tool-names.ts'

/*
 * Who may call whom, and with what. Rights only shrink on the way down: a sub-agent has at most the depth its caller
 * has left, and the tools that its caller has or that a user wrote into its file. What it has from its caller comes with
 * the rules that its caller has it under.
 */

/**
 * Where a new session stands in the tree, or why it may not be there. An errand is the pattern's own work: nobody chose
 * its agent, so nobody's list of agents is asked.
 */
export function placementFor(
  execution: Execution,
  agent: Agent,
  { caller, internal }: { caller: Caller | undefined; internal: boolean },
): Placement {
  if (!caller)
    return { parent_session_id: null, depth: 0, self_depth: 0, max_depth: execution.run.limits.depth, path: [] }
  const above = caller.opening
  const depth = above.depth + 1
  const path = [...above.path, above.agent.name]
  const itself = agent.name === above.agent.name
  const place = { parent_session_id: caller.session_id, depth, max_depth: above.max_depth, path }
  if (depth > above.max_depth) throw depthExceededError(above.agent.name, depth, above.max_depth)
  if (internal) return { ...place, self_depth: 0 }
  if (itself) {
    const self_depth = above.self_depth + 1
    if (self_depth > execution.run.limits.self_depth)
      throw depthExceededError(`${agent.name} (itself)`, self_depth, execution.run.limits.self_depth)
    return { ...place, self_depth }
  }
  if (path.includes(agent.name)) {
    throw new TroupeError(
      'cycle_refused',
      `${agent.name} is already at work above: ${[...path, agent.name].join(' → ')}`,
      {
        hint: 'answer from what you have, or delegate to an agent that is not on this path',
      },
    )
  }
  requireDelegationAllowed(caller, agent.name)
  return { ...place, self_depth: 0 }
}

/**
 * What of its rights a resumed session keeps under the one who resumes it: it must be allowed there as a new one would
 * be, has no tool that a new one would not have, may delegate no deeper than its caller could, and changes nothing while
 * its caller plans.
 */
export function resumedRights(
  execution: Execution,
  before: SessionOpen,
  { key, caller }: { key: string; caller: Caller | undefined },
): Partial<SessionOpen> {
  if (!caller) return {}
  const place = placementFor(execution, before.agent, { caller, internal: false })
  const levels = Math.min(before.max_depth - before.depth, place.max_depth - place.depth)
  const { patternTools } = execution.ports
  const asNew = new Set(toolsFor(execution, before.agent, { key, place, inherited: caller.tools }))
  const inherited_rules = [
    ...new Map([...(before.inherited_rules ?? []), ...inheritedRules(before.agent, caller)].map(byContent)).values(),
  ]
  return {
    max_depth: before.depth + levels,
    ...(inherited_rules.length > 0 ? { inherited_rules } : undefined),
    tools: before.tools.filter((name) => asNew.has(name) && (levels > 0 || !patternTools.get(name)?.pattern.delegates)),
    ...(caller.planMode ? { read_only: true as const } : undefined),
  }
}

/** The rules an agent has its tools under: those of its callers, unless a user wrote into its file which tools it has. */
export function inheritedRules(agent: Agent, caller: Caller | undefined): AgentPermissions[] {
  const ownTools = agent.tools !== undefined && agent.origin?.by !== 'model'
  if (!caller || ownTools) return []
  const { inherited_rules = [], agent: above } = caller.opening
  return above.permissions ? [...inherited_rules, above.permissions] : inherited_rules
}

function byContent(rules: AgentPermissions): [string, AgentPermissions] {
  return [canonicalJson(rules), rules]
}

/** Throws `denied` when the caller's agent names whom it may delegate to, and this one is not among them. */
function requireDelegationAllowed(caller: Caller | undefined, name: string): void {
  const allowed = caller?.opening.agent.agents
  if (!allowed || allowed.includes(name)) return
  throw new TroupeError('denied', `${caller.opening.agent.name} may not delegate to ${name}`, {
    alternatives: allowed,
    hint: `it may delegate to: ${allowed.join(', ')}`,
  })
}

export type Placement = Pick<SessionOpen, 'parent_session_id' | 'depth' | 'self_depth' | 'max_depth' | 'path'>

/** Counts one more sub-session of this caller, or refuses it. */
export function countSubSession(execution: Execution, caller: Caller | undefined): void {
  if (!caller) return
  const children = (execution.subSessionCounts.get(caller.session_id) ?? 0) + 1
  if (children > execution.run.limits.breadth) throw limitError('breadth', children - 1, execution.run.limits.breadth)
  execution.subSessionCounts.set(caller.session_id, children)
}

/** Where a session of an agent would stand, and what its caller has. */
export interface ToolGrantScope {
  key: string
  place: Pick<Placement, 'depth' | 'max_depth'>
  inherited: readonly string[] | undefined
  /** Only tools that look. Those of servers are not among them: which there are depends on what has been started. */
  readOnly?: boolean | undefined
}

/** The names of the tools an agent has here, in registry spelling; names that nobody provides are left out. */
export function toolsFor(
  execution: Execution,
  agent: Agent,
  { key, place, inherited, readOnly }: ToolGrantScope,
): string[] {
  const { tools, patternTools, serverToolNames, replayOnly } = execution.ports
  // What a model wrote brings nothing along: it can only narrow what it was given. In a replay, what a session has of
  // servers is what it had then, from wherever.
  const brought =
    agent.origin?.by === 'model' && !replayOnly ? [] : (execution.ports.agentProvidedTools?.(agent, key) ?? [])
  const mayHave = (name: string) =>
    !tools.get(name)?.agent_provided || brought.includes(name) || (!replayOnly && inherited?.includes(name))
  const spelled = (names: readonly string[]) => expandToolNames(names, execution.ports).filter(mayHave)
  const all = inherited ?? defaultTools(execution.ports)
  const excluded = expandToolNames(agent.exclude_tools ?? [], execution.ports)
  const named = {
    ...agent,
    exclude_tools: excluded,
    ...(agent.tools ? { tools: [...spelled(agent.tools), ...brought] } : undefined),
  }
  const mayDelegate = place.depth < place.max_depth
  return effectiveTools(named, [...spelled(all), ...brought]).filter((name) =>
    readOnly
      ? tools.get(name)?.kind === 'read' && !serverToolNames.isServerTool(name)
      : mayDelegate || !patternTools.get(name)?.pattern.delegates,
  )
}

function depthExceededError(who: string, depth: number, max: number): TroupeError {
  return new TroupeError('depth_exceeded', `${who} may not delegate: depth ${depth} is over the limit of ${max}`, {
    hint: 'do the work yourself; or allow more levels: --limit depth=N (max_recursion_depth)',
  })
}
