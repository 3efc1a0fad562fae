import { nearestNames, toTroupeError } from '../../errors.ts'
import type { Agent } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { Execution } from '../journal/execution.ts'
import { isFatal } from '../journal/fatal-error.ts'
import { toolsFor } from './delegation.ts'

/** Tools of servers do not count as reading: which there are depends on what has been started, and steers no run. */
export function isReadOnlyAgent(
  execution: Execution,
  agent: Agent,
  { caller, readOnly }: { caller: Caller | undefined; readOnly: true | undefined },
): boolean {
  if (readOnly) return true
  const { isServerTool } = execution.ports.serverToolNames
  const inherited = caller?.tools
  if (Object.keys(agent.mcp_servers ?? {}).length > 0 || agent.tools?.some(isServerTool)) return false
  if (!agent.tools && !inherited && execution.ports.prepareTools) return false
  // Not where it would stand: that may be refused, which is for whoever calls it to hear.
  const place = caller
    ? { ...caller.opening, depth: caller.opening.depth + 1 }
    : { depth: 0, max_depth: execution.run.limits.depth }
  return toolsFor(execution, agent, { key: '', place, inherited }).every((name) => {
    const tool = execution.ports.tools.get(name) ?? execution.ports.patternTools.get(name)
    if (isServerTool(name)) return false
    return tool?.kind === 'pattern' ? !tool.pattern.delegates : tool?.kind === 'read'
  })
}

/** Names that stand for no tool, with those that there are, the nearest first. */
export function unknownTools(execution: Execution, names: readonly string[]): { name: string; known: string[] }[] {
  const { tools, patternTools, serverToolNames } = execution.ports
  const { isServerTool } = serverToolNames
  const known = [...tools.keys(), ...patternTools.keys()].filter((name) => !isServerTool(name))
  const unknown = names.filter((name) => !isServerTool(name) && !tools.has(name) && !patternTools.has(name))
  return unknown.map((name) => ({ name, known: nearestNames(name, known) }))
}

/** Why no model of this name can be had; it is looked for as a session would. */
export async function modelProblem(execution: Execution, name: string): Promise<string | undefined> {
  try {
    await execution.ports.models.resolve(name)
    return undefined
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    return error.message
  }
}
