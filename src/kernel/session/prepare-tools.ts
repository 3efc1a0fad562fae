import { toJsonSchema } from '../../schema/schema.ts'
import { toCompactSchema } from '../../schema/tool-schema.ts'
import type { Agent } from '../agent.ts'
import type { Context } from '../context.ts'
import type { SessionOpen } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import type { ToolSpec } from '../model.ts'
import type { Pattern } from '../pattern.ts'
import type { Tool } from '../tool.ts'
import { withAbort } from '../world.ts'

interface PrepareScope {
  execution: Execution
  signal: AbortSignal
}

/** Starts what the agent's tools need. Returns `undefined` when all is ready, so that sessions open without waiting. */
export function prepareTools({ execution, signal }: PrepareScope, agent: Agent): Promise<void> | undefined {
  const preparing = execution.ports.prepareTools?.(agent)
  return preparing && execution.load(() => withAbort(preparing, signal))
}

/**
 * The same for a session that was opened before. Servers of its former callers are started again for the tools that it
 * inherited from them: those callers need not be part of this run.
 */
export function prepareResumedTools(scope: PrepareScope, opening: SessionOpen): Promise<void> | undefined {
  const { ports } = scope.execution
  const isMissing = (name: string) => ports.serverToolNames.isServerTool(name) && !ports.tools.get(name)
  const hasMissingTools = () => ports.prepareTools !== undefined && opening.tools.some(isMissing)
  const preparing = prepareTools(scope, opening.agent)
  if (!preparing && !hasMissingTools()) return undefined
  const callers = opening.path.toReversed().filter((name) => ports.roster.has(name))
  return (async () => {
    await preparing
    for (const name of callers) if (hasMissingTools()) await prepareTools(scope, ports.roster.get(name))
  })()
}

/** The tool that a session calls by this name: tools for files and commands work in the folder of the session. */
export function toolForSession({ ports }: Execution, { workspace }: SessionOpen, name: string): Tool | undefined {
  const tool = ports.tools.get(name)
  return tool && workspace !== undefined ? (ports.toolIn?.(workspace, name) ?? tool) : tool
}

/** The tools as the model sees them; the schema of a pattern may depend on its caller. */
export function toolSpecsFor(
  execution: Execution,
  opening: SessionOpen,
  contextFor: (pattern: Pattern, key: string) => Context,
): readonly ToolSpec[] {
  const { tools, patternTools, serverToolNames, roster, permissions } = execution.ports
  const level = opening.depth < opening.max_depth ? '' : '|self'
  const { agent, inherited_rules: inheritedRules = [] } = opening
  const rules =
    agent.permissions || inheritedRules.length > 0 ? JSON.stringify([agent.permissions, inheritedRules]) : ''
  const cacheKey = `${opening.tools.join()}|${agent.agents?.join() ?? '*'}${level}|${roster.names.length}|${rules}`
  // Not cached with server tools: a server may change their descriptions.
  const cacheable = !opening.tools.some((name) => serverToolNames.isServerTool(name))
  const cached = cacheable ? execution.toolSpecs.get(cacheKey) : undefined
  if (cached) return cached
  const specs = opening.tools.flatMap((name) => {
    const tool = tools.get(name) ?? patternTools.get(name)
    if (!tool) return []
    const callerSchema = tool.kind === 'pattern' ? tool.pattern.inputFor?.(contextFor(tool.pattern, '')) : undefined
    const allowed = permissions.describe?.({
      agent,
      inheritedRules,
      tool: tool.name,
      runRules: execution.run.permissions,
    })
    const description = allowed === undefined ? tool.description : `${tool.description} ${allowed}`
    const input = toJsonSchema(callerSchema ?? tool.input)
    return { name: tool.name, description, input: serverToolNames.isServerTool(name) ? input : toCompactSchema(input) }
  })
  if (cacheable) execution.toolSpecs.set(cacheKey, specs)
  return specs
}
