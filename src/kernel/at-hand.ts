import { asTroupeError, nearest } from '../errors.ts'
import type { Agent } from './agent.ts'
import type { Caller } from './context.ts'
import { toolsFor } from './delegation.ts'
import type { Execution } from './execution.ts'
import { isFatal } from './fatal.ts'
import { isOfServer } from './named-tools.ts'

/** Tools of servers do not count as reading: which there are depends on what has been started, and steers no run. */
export function onlyReads(
  x: Execution,
  agent: Agent,
  { caller, reading }: { caller: Caller | undefined; reading: true | undefined },
): boolean {
  if (reading) return true
  const inherited = caller?.tools
  if (Object.keys(agent.mcp_servers ?? {}).length > 0 || agent.tools?.some(isOfServer)) return false
  if (!agent.tools && !inherited && x.ports.prepare) return false
  // Not where it would stand: that may be refused, which is for whoever calls it to hear.
  const place = caller ? { ...caller.open, depth: caller.open.depth + 1 } : { depth: 0, max_depth: x.run.limits.depth }
  return toolsFor(x, agent, { key: '', place, inherited }).every((name) => {
    const tool = x.ports.tools.get(name) ?? x.ports.patternTools.get(name)
    if (isOfServer(name)) return false
    return tool?.kind === 'pattern' ? !tool.pattern.delegates : tool?.kind === 'read'
  })
}

/** Names that stand for no tool, with those that there are, the nearest first. */
export function unknownTools(x: Execution, names: readonly string[]): { name: string; known: string[] }[] {
  const { tools, patternTools } = x.ports
  const known = [...tools.keys(), ...patternTools.keys()].filter((name) => !isOfServer(name))
  const unknown = names.filter((name) => !isOfServer(name) && !tools.has(name) && !patternTools.has(name))
  return unknown.map((name) => ({ name, known: nearest(name, known) }))
}

/** Why no model of this name can be had; it is looked for as a session would. */
export async function modelProblem(x: Execution, name: string): Promise<string | undefined> {
  try {
    await x.ports.models.resolve(name)
    return undefined
  } catch (thrown) {
    const error = asTroupeError(thrown)
    if (isFatal(error)) throw error
    return error.message
  }
}
