import type { ServerToolNames } from '../../kernel/server-tool-names.ts'

/** The tool names that `defineTool` accepts. */
const VALID_NAME = /^[A-Za-z0-9_.:-]{1,64}$/

/**
 * The server name as used in tool names. Prevents spoofing: with `__`, or `_` at its ends, a server could imitate the tool
 * names of another server and match its permission rules.
 */
export function mcpServerKey(name: string): string {
  return name
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '')
}

/** `mcp__server__tool`; `undefined` when that is not a valid tool name. */
export function mcpToolName(server: string, tool: string): string | undefined {
  const name = `mcp__${server}__${tool}`
  return tool !== '' && VALID_NAME.test(name) ? name : undefined
}

/** Whether an entry of `tools` refers to the server: `mcp__files`, `mcp__files__read`, `mcp__files__*`, `files/*`. */
export function matchesServer(name: string, server: string): boolean {
  const prefix = `mcp__${server}`
  if (name === prefix || name.startsWith(`${prefix}__`)) return true
  if (name.startsWith('mcp__') && name.endsWith('*')) return `${prefix}__`.startsWith(name.slice(0, -1))
  const slash = name.indexOf('/')
  return slash > 0 && mcpServerKey(name.slice(0, slash)) === server
}

/**
 * Resolves entries of an agent's `tools` to tools of servers: `mcp__server` and `mcp__server__*` select all tools of a server;
 * `server/tool` and `server/*` are the syntax of other hosts.
 */
export const MCP_TOOL_NAMES: ServerToolNames = {
  isServerTool: (name) => name.startsWith('mcp__') || name.includes('/'),
  selector(name) {
    const prefix = serverPrefix(name)
    if (prefix !== undefined) return (registered) => registered.startsWith(prefix)
    const [, server, tool] = /^([\w-]+)\/([\w.:-]+)$/.exec(name) ?? []
    return server === undefined ? undefined : (registered) => registered === `mcp__${server}__${tool}`
  },
}

function serverPrefix(name: string): string | undefined {
  if (name.startsWith('mcp__')) return name.endsWith('*') ? name.slice(0, -1) : `${name}__`
  const [, server] = /^([\w-]+)\/\*$/.exec(name) ?? []
  return server === undefined ? undefined : `mcp__${server}__`
}
