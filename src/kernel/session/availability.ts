import { nearestNames, toTroupeError } from '../../errors.ts'
import type { Agent } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { Execution } from '../journal/execution.ts'
import { isFatal } from '../journal/fatal-error.ts'
import { toolsFor } from './delegation.ts'

/**
 * True when none of the agent's tools can change anything. MCP tools count as writing: which of them exist depends on the
 * servers that are up, and a run must take the same path on replay.
 */
export function isReadOnlyAgent(
  execution: Execution,
  agent: Agent,
  { caller, readOnly }: { caller: Caller | undefined; readOnly: true | undefined },
): boolean {
  if (readOnly) return true
  const { tools, patternTools, prepareTools, serverToolNames } = execution.ports
  const { isServerTool } = serverToolNames
  const inherited = caller?.tools
  if (Object.keys(agent.mcp_servers ?? {}).length > 0 || agent.tools?.some(isServerTool)) return false
  if (!agent.tools && !inherited && prepareTools) return false
  // Not `placementFor`: it throws where delegation is rejected, and that error belongs to the call itself.
  const placement = caller
    ? { ...caller.opening, depth: caller.opening.depth + 1 }
    : { depth: 0, self_depth: 0, max_depth: execution.run.limits.depth }
  return toolsFor(execution, agent, { key: '', placement, inherited }).every((name) => {
    const tool = tools.get(name) ?? patternTools.get(name)
    if (isServerTool(name)) return false
    return tool?.kind === 'pattern' ? !tool.pattern.delegation : tool?.kind === 'read'
  })
}

/** The names that match no tool, each with the known tools, nearest first. */
export function unknownTools(execution: Execution, names: readonly string[]): { name: string; known: string[] }[] {
  const { tools, patternTools, serverToolNames } = execution.ports
  const { isServerTool } = serverToolNames
  const known = [...tools.keys(), ...patternTools.keys()].filter((name) => !isServerTool(name))
  const unknown = names.filter((name) => !isServerTool(name) && !tools.has(name) && !patternTools.has(name))
  return unknown.map((name) => ({ name, known: nearestNames(name, known) }))
}

const MAX_ALTERNATIVES = 8

/** True if a model may choose this one: the operator configured it, or an agent of the roster uses it. */
export function isConfiguredForModels({ ports }: Execution, name: string): boolean {
  const { models, roster } = ports
  return models.isConfigured?.(name) !== false || roster.names.some((agent) => roster.get(agent).model === name)
}

/** The reason why a model cannot be used; `undefined` if it can. */
export async function modelProblem(
  execution: Execution,
  name: string,
  chosenBy: 'operator' | 'model' = 'operator',
): Promise<string | undefined> {
  if (chosenBy === 'model' && !isConfiguredForModels(execution, name))
    return `'${name}' is none of the configured models; use a role: fast, general or reasoning`
  try {
    await execution.ports.models.resolve(name)
    return undefined
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    const known = error.alternatives.slice(0, MAX_ALTERNATIVES).filter((name) => !error.message.includes(name))
    return known.length === 0 ? error.message : `${error.message}; known: ${known.join(', ')}`
  }
}
