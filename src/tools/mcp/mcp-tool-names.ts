import type { ServerToolNames } from '../../kernel/server-tool-names.ts'

/**
 * Tools of MCP servers are registered as `mcp__server__tool`. In an agent's list `mcp__server` and `mcp__server__*` stand for
 * all tools of that server; `server/tool` and `server/*` are the spelling of other hosts.
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
