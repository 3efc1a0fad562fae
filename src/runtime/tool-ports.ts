import { resolve } from 'node:path'
import type { Policy } from '../judgement/permission/permission-policy.ts'
import { UNKNOWN_TOOL_REASON } from '../judgement/permission/rule-lint.ts'
import type { Agent } from '../kernel/agent.ts'
import type { ToolPorts } from '../kernel/ports.ts'
import type { Redactor } from '../kernel/redactor.ts'
import { compileSchema } from '../kernel/schema.ts'
import type { Tool } from '../kernel/tool.ts'
import type { World } from '../kernel/world.ts'
import type { McpServers } from '../tools/mcp/mcp-servers.ts'
import { mcpServerKey } from '../tools/mcp/mcp-tool-names.ts'
import { agentNames, checkAgentRules, checkPolicy } from '../tools/permissions.ts'
import type { SandboxReport } from '../tools/sandbox/sandbox.ts'
import type { Toolbox } from '../tools/tools.ts'
import { DEFAULT_STORE, databasePath } from './open-store.ts'
import type { PatternRegistry } from './pattern-registry.ts'
import { requireUniqueNames } from './pattern-registry.ts'
import type { TroupeMcpOptions, TroupeOptions } from './troupe-options.ts'

/** Reports whether commands can be sandboxed on this machine, and what is missing. */
export async function sandboxReport(needs: { network: boolean }): Promise<SandboxReport> {
  const { describeSandbox } = await import('../tools/sandbox/describe-sandbox.ts')
  return describeSandbox(needs)
}

/** The redactor of tool results; the values of secret environment variables are known secrets. */
export async function redactorPort({ redact }: TroupeOptions): Promise<{ redactor?: Redactor }> {
  if (redact === false) return {}
  if (redact) return { redactor: redact }
  const { redactField, secretEnvValues } = await import('../judgement/redaction.ts')
  const known = secretEnvValues(process.env)
  return { redactor: { redact: (text, field) => redactField(text, field, known) } }
}

/** Opens the workspace tools. Agents must not read or change the store, wherever it is. */
export async function openToolbox({ workspace, store = DEFAULT_STORE }: TroupeOptions): Promise<Toolbox | undefined> {
  if (!workspace) return undefined
  const { createTools } = await import('../tools/tools.ts')
  if (typeof store !== 'string' || store === 'memory') return createTools(workspace)
  const { storePathsToHide } = await import('../tools/files/store-location.ts')
  const hidden = storePathsToHide(workspace.workspace, { path: store, isFile: databasePath(store) === store })
  return createTools({
    ...workspace,
    protect: [...(workspace.protect ?? []), resolve(store)],
    hide: [...(workspace.hide ?? []), ...hidden],
  })
}

export function toolsByName(
  options: TroupeOptions,
  toolbox: Toolbox | undefined,
  patterns: PatternRegistry,
): Map<string, Tool> {
  const { tools = [] } = options
  const enabled = (toolbox?.tools ?? []).filter(({ name }) => !options.disabledTools?.includes(name))
  const patternTools = [...patterns.tools.keys(), ...patterns.patterns.map(({ name }) => name)]
  requireUniqueNames('patterns', options.patterns, new Set([...enabled, ...tools].map(({ name }) => name)))
  requireUniqueNames('tools', tools, new Set([...patternTools, ...enabled.map(({ name }) => name)]))
  for (const { name, input } of tools) compileSchema(input, `\`input\` of the tool '${name}'`)
  return new Map([...enabled, ...tools].map((tool) => [tool.name, tool]))
}

interface McpDeps {
  agents: readonly Agent[]
  tools: Map<string, Tool>
  world: World
  toolbox: Toolbox | undefined
}

/** The MCP servers of the options and of agents; `undefined` without any. Starts none. */
export async function openMcp(
  options: TroupeOptions,
  { agents, tools, world, toolbox }: McpDeps,
): Promise<McpServers | undefined> {
  const { servers = {}, ...mcp }: TroupeMcpOptions = options.mcp ?? {}
  if (Object.keys(servers).length === 0 && agents.every(({ mcp_servers }) => !mcp_servers)) return undefined
  const { createMcpServers } = await import('../tools/mcp/mcp-servers.ts')
  return createMcpServers({
    servers,
    tools,
    world,
    env: process.env,
    hosts: options.workspace?.network?.hosts ?? [],
    ...(toolbox ? { sandbox: toolbox.sandbox } : undefined),
    ...mcp,
    warn: (problem) => process.emitWarning(problem),
  })
}

/** The permission policy. With a workspace, the default mode is `ask`. Warns of rules that do not work as written. */
export function permissionPolicy(
  options: TroupeOptions,
  agents: readonly Agent[],
  { tools, patternTools }: Pick<ToolPorts, 'tools' | 'patternTools'>,
): Policy {
  const policy = options.permissions ?? (options.workspace ? { mode: 'ask' as const } : {})
  const unscoped = [...tools.values()].filter(({ subject }) => !subject).map(({ name }) => name)
  const unscopedPatterns = [...patternTools].flatMap(([name, { pattern }]) => (pattern.agents ? [] : name))
  const servers = [options.mcp?.servers ?? {}, ...agents.map(({ mcp_servers = {} }) => mcp_servers)]
  const context = {
    tools: [...tools.keys(), ...patternTools.keys()],
    plain: [...unscoped, ...unscopedPatterns],
    agents: agents.flatMap(agentNames),
    servers: servers.flatMap((configs) => Object.keys(configs)).map((name) => `mcp__${mcpServerKey(name)}__`),
  }
  // The tools of performers are not known here.
  const hasPerformers = Object.keys(options.performers ?? {}).length > 0
  const warn = (problem: string) => {
    if (!hasPerformers || !problem.endsWith(UNKNOWN_TOOL_REASON)) process.emitWarning(problem)
  }
  checkPolicy(policy, context, warn)
  checkAgentRules(agents, context, warn)
  return policy
}
