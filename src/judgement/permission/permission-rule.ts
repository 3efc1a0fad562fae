import { TroupeError } from '../../errors.ts'

/** A rule such as `Bash(npm test:*)`: a tool, and a pattern for its calls. */
export interface PermissionRule {
  tool: string
  /** `undefined`: all calls of the tool. */
  pattern: string | undefined
}

export function parsePermissionRule(rule: string): PermissionRule {
  const parts = /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule.trim())
  if (!parts?.[1]) {
    throw new TroupeError('invalid_input', `'${rule}' in \`allow\`, \`ask\` or \`deny\` is not a permission rule`, {
      hint: 'write Tool or Tool(pattern), such as Bash(npm test:*) or Write(src/**)',
    })
  }
  const pattern = parts[2]?.trim()
  if (pattern === '') {
    // A forgotten pattern must not allow everything.
    throw new TroupeError(
      'invalid_input',
      `the rule '${rule}' in \`allow\`, \`ask\` or \`deny\` has an empty pattern`,
      {
        hint: `write ${parts[1]} for all calls, or ${parts[1]}(pattern)`,
      },
    )
  }
  const matchesAll = pattern === undefined || pattern === '*' || pattern === ':*'
  return { tool: parts[1], pattern: matchesAll ? undefined : pattern }
}

/**
 * Whether the tool part of a rule matches a tool. `mcp__server` and `mcp__server__*` match all tools of that server.
 */
export function matchesTool(ruleTool: string, tool: string): boolean {
  if (ruleTool === tool || ruleTool === '*') return true
  if (ruleTool.endsWith('*')) return tool.startsWith(ruleTool.slice(0, -1))
  return ruleTool.startsWith('mcp__') && tool.startsWith(`${ruleTool}__`)
}

/** Whether an allow rule limits a tool: it names the tool, or selects some tools of the same MCP server. */
export function restrictsTool(ruleTool: string, tool: string): boolean {
  if (matchesTool(ruleTool, tool)) return true
  const [, server] = /^(mcp__.+?__).*\*$/.exec(ruleTool) ?? []
  return server !== undefined && tool.startsWith(server)
}

/** Tools that a deny rule covers too, because they read or write the same files. */
const EQUIVALENT_TOOLS: Readonly<Record<string, readonly string[]>> = {
  Write: ['Edit'],
  Edit: ['Write'],
  Read: ['Grep', 'Glob', 'LSP'],
}

/** Whether a deny or ask rule applies to a tool. */
export function deniesTool(rule: PermissionRule, tool: string): boolean {
  return matchesTool(rule.tool, tool) || EQUIVALENT_TOOLS[rule.tool]?.includes(tool) === true
}

/** Matches a pattern whose only wildcard is `*`. Scans from left to right without backtracking: safe from ReDoS. */
export function matchesWildcard(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return pattern === text
  const last = parts.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let position = first.length
  for (const part of parts.slice(1, -1)) {
    const index = text.indexOf(part, position)
    if (index === -1) return false
    position = index + part.length
  }
  return position <= text.length - last.length
}
