import { TroupeError, unknownNameError } from '../errors.ts'
import { BUILT_IN_TOOLS, NAME_ONLY_TOOLS } from '../formats/tool-aliases.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Tool } from '../kernel/tool.ts'
import { MCP_TOOL_NAMES, matchesServer, mcpServerKey } from '../tools/mcp/mcp-tool-names.ts'
import type { PatternRegistry } from './pattern-registry.ts'
import type { TroupeOptions } from './troupe-options.ts'

const TOOL_LISTS = ['tools', 'extra_tools', 'exclude_tools'] as const

interface KnownTools {
  tools: ReadonlyMap<string, Tool>
  patterns: () => Promise<PatternRegistry>
}

/**
 * Rejects with `invalid_input` for a tool name in an agent of the program that nothing provides: the agent would work without the tool. Files of
 * agents are written for several hosts, and only warn.
 */
export async function checkAgentTools(
  { mcp }: TroupeOptions,
  agents: readonly Agent[],
  { tools, patterns }: KnownTools,
): Promise<void> {
  // The built-in tools need not be enabled: a configuration serves commands and programs.
  const known = new Set([...tools.keys(), ...BUILT_IN_TOOLS, ...NAME_ONLY_TOOLS])
  const servers = [mcp?.servers ?? {}, ...agents.map(({ mcp_servers = {} }) => mcp_servers)]
    .flatMap((configs) => Object.keys(configs))
    .map(mcpServerKey)
  // The tools of an external agent are its own.
  const unknown = agents
    .filter(({ origin, performer }) => !origin && performer === undefined)
    .flatMap((agent) => TOOL_LISTS.flatMap((list) => (agent[list] ?? []).map((name) => ({ agent, list, name }))))
    .filter(({ name }) => !known.has(name) && !servers.some((server) => matchesServer(name, server)))
  if (unknown.length === 0) return
  for (const name of (await patterns()).tools.keys()) known.add(name)
  const [first] = unknown.filter(({ name }) => !known.has(name))
  if (first) throw unknownToolError(`\`${first.list}\` of the agent '${first.agent.name}'`, first.name, [...known])
}

function unknownToolError(place: string, name: string, known: readonly string[]): TroupeError {
  if (MCP_TOOL_NAMES.isServerTool(name)) {
    return new TroupeError('invalid_input', `${place}: no MCP server provides '${name}'`, {
      hint: 'configure the server with `mcp.servers`, or with `mcp_servers` of an agent',
    })
  }
  const { message, alternatives, hint } = unknownNameError('invalid_input', { kind: 'tool', name, known })
  return new TroupeError('invalid_input', `${place}: ${message}`, { alternatives, hint })
}
