import { TroupeError } from '../../errors.ts'

/** A rule such as `Bash(npm test:*)`: a tool, and which of its calls. */
export interface PermissionRule {
  tool: string
  /** Absent: all of them. */
  pattern: string | undefined
}

export function parsePermissionRule(rule: string): PermissionRule {
  const parts = /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule.trim())
  if (!parts?.[1]) {
    throw new TroupeError('invalid_input', `'${rule}' is not a permission rule`, {
      hint: 'write Tool or Tool(pattern), such as Bash(npm test:*) or Write(src/**)',
    })
  }
  const pattern = parts[2]?.trim()
  const all = pattern === undefined || pattern === '' || pattern === '*' || pattern === ':*'
  return { tool: parts[1], pattern: all ? undefined : pattern }
}

/** Whether a rule's tool is the called one. `mcp__server` stands for all tools of that server, as `mcp__server__*` does. */
export function matchesTool(rule: string, tool: string): boolean {
  if (rule === tool || rule === '*') return true
  if (rule.endsWith('*')) return tool.startsWith(rule.slice(0, -1))
  return rule.startsWith('mcp__') && tool.startsWith(`${rule}__`)
}

/** Whether an allowance limits the called tool: it names it, or picks some of the server that it belongs to. */
export function restrictsTool(rule: string, tool: string): boolean {
  if (matchesTool(rule, tool)) return true
  const [, server] = /^(mcp__.+?__).*\*$/.exec(rule) ?? []
  return server !== undefined && tool.startsWith(server)
}

/** What a forbidding rule for one tool is also about: there are other ways to write and to read. */
const EQUIVALENT_TOOLS: Readonly<Record<string, readonly string[]>> = {
  Write: ['Edit'],
  Edit: ['Write'],
  Read: ['Grep', 'Glob', 'LSP'],
}

/** Whoever may not be delegated to may not be put to work another way either; other delegation stays. */
const DELEGATION_TOOLS = new Set(['task', 'Task', 'Agent'])

export function deniesTool(rule: PermissionRule, tool: string): boolean {
  if (matchesTool(rule.tool, tool) || EQUIVALENT_TOOLS[rule.tool]?.includes(tool) === true) return true
  return tool === 'collaborate' && DELEGATION_TOOLS.has(rule.tool) && rule.pattern !== undefined
}
