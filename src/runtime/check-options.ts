import { BUILT_IN_TOOLS } from '../formats/tool-aliases.ts'
import { UNKNOWN_TOOL_REASON } from '../judgement/permission/rule-lint.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Tool } from '../kernel/tool.ts'
import { compileSchema } from '../schema/schema.ts'
import { checkToolFields } from '../tools/define-tool.ts'
import { mcpServerKey } from '../tools/mcp/mcp-tool-names.ts'
import { agentNames, checkAgentRules, checkPolicy } from '../tools/permissions.ts'
import { issueWarning } from './issue-warning.ts'
import type { PatternRegistry } from './pattern-registry.ts'
import { requireUniqueNames } from './pattern-registry.ts'
import { permissionPolicy } from './tool-ports.ts'
import type { AdaptedOptions } from './troupe-options.ts'

/** Throws `invalid_input` for a name that is used twice for a tool without `kind` or `execute`, and for one whose schema cannot be compiled. */
export function checkTools(options: AdaptedOptions, enabled: readonly Tool[], patterns: PatternRegistry): void {
  const { tools = [] } = options
  const patternTools = [...patterns.tools.keys(), ...patterns.patterns.map(({ name }) => name)]
  requireUniqueNames('patterns', options.patterns, new Set([...enabled, ...tools].map(({ name }) => name)))
  requireUniqueNames('tools', tools, new Set([...patternTools, ...enabled.map(({ name }) => name)]))
  for (const tool of tools) {
    checkToolFields(tool)
    compileSchema(tool.input, `\`input\` of the tool '${tool.name}'`)
  }
}

/** Throws on invalid rules, and warns of rules that do not work as written. */
export function checkPermissions(
  options: AdaptedOptions,
  agents: readonly Agent[],
  { tools, patterns }: { tools: ReadonlyMap<string, Tool>; patterns: PatternRegistry },
): void {
  const unscoped = [...tools.values()].filter(({ subject }) => !subject).map(({ name }) => name)
  const unscopedPatterns = [...patterns.tools].flatMap(([name, { pattern }]) => (pattern.agents ? [] : name))
  const servers = [options.mcp?.servers ?? {}, ...agents.map(({ mcp_servers = {} }) => mcp_servers)]
  const context = {
    // A rule for a built-in tool is no mistake where that tool is not enabled: a configuration serves commands and programs.
    tools: [...tools.keys(), ...patterns.tools.keys(), ...BUILT_IN_TOOLS],
    plain: [...unscoped, ...unscopedPatterns],
    agents: agents.flatMap(agentNames),
    servers: servers.flatMap((configs) => Object.keys(configs)).map((name) => `mcp__${mcpServerKey(name)}__`),
  }
  // The tools of performers are not known here.
  const hasPerformers = Object.keys(options.performers ?? {}).length > 0
  const warn = (problem: string) => {
    if (!hasPerformers || !problem.endsWith(UNKNOWN_TOOL_REASON)) issueWarning(problem)
  }
  checkPolicy(permissionPolicy(options), context, warn)
  checkAgentRules(agents, context, warn)
}
