/** What one of our names may be at the most; see `defineTool`. */
const VALID_NAME = /^[A-Za-z0-9_.:-]{1,64}$/

/**
 * A server's name as it stands in the names of its tools. Without `__` and without `_` at its ends, or a server could be
 * called so that its tools pass for those of another one, and a rule for the one would hold for the other.
 */
export function mcpServerKey(name: string): string {
  return name
    .replace(/[^A-Za-z0-9-]+/g, '_')
    .replace(/_+/g, '_')
    .replace(/^_|_$/g, '')
}

/** `mcp__server__tool`, or nothing when that is no name for a tool. */
export function mcpToolName(server: string, tool: string): string | undefined {
  const name = `mcp__${server}__${tool}`
  return tool !== '' && VALID_NAME.test(name) ? name : undefined
}

/** Whether a name of an agent's list is about this server: `mcp__files`, `mcp__files__read`, `mcp__files__*`, `files/*`. */
export function matchesServer(name: string, server: string): boolean {
  const all = `mcp__${server}`
  if (name === all || name.startsWith(`${all}__`)) return true
  if (name.startsWith('mcp__') && name.endsWith('*')) return `${all}__`.startsWith(name.slice(0, -1))
  const slash = name.indexOf('/')
  return slash > 0 && mcpServerKey(name.slice(0, slash)) === server
}
