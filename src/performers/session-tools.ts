import type { Context } from '../kernel/context.ts'
import type { SessionOpen } from '../kernel/event.ts'
import type { Execution } from '../kernel/journal/execution.ts'
import type { ToolSpec } from '../kernel/model.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Tool } from '../kernel/tool.ts'
import { toJsonSchema } from '../schema/schema.ts'
import { toCompactSchema } from '../schema/tool-schema.ts'

/** The tool that a session calls by this name: tools for files and commands work in the folder of the session. */
export function toolForSession({ ports }: Execution, { workspace }: SessionOpen, name: string): Tool | undefined {
  const tool = ports.tools.get(name)
  return tool && workspace !== undefined ? (ports.toolIn?.(workspace, name) ?? tool) : tool
}

/** Tool definitions as sent to models, shared by all sessions of an execution with the same tools. */
const specsOf = new WeakMap<Execution, Map<string, readonly ToolSpec[]>>()

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
  const known = specsOf.get(execution) ?? new Map<string, readonly ToolSpec[]>()
  specsOf.set(execution, known)
  const cached = cacheable ? known.get(cacheKey) : undefined
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
  if (cacheable) known.set(cacheKey, specs)
  return specs
}
