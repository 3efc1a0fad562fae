import { HOST_PATTERN } from './domain-rule.ts'
import { compileGlob } from './glob-matcher.ts'
import type { Policy } from './permission-policy.ts'
import { matchesTool, parsePermissionRule } from './permission-rule.ts'

/** The names that rules can refer to. */
export interface RuleLintContext {
  tools: readonly string[]
  /** Tools that take no pattern in a rule. */
  plain?: readonly string[]
  agents?: readonly string[]
  /** Prefixes of MCP tool names (`mcp__server__`); absent when the servers are not known. */
  servers?: readonly string[]
}

/** A rule that has no effect, or another effect than its author expects. */
/** The reason for a rule whose tool is unknown. Callers may ignore it where tools become known later. */
export const UNKNOWN_TOOL_REASON = 'no tool has this name'

export interface RuleWarning {
  rule: string
  reason: string
}

const FILE_TOOLS = new Set(['Read', 'Write', 'Edit', 'Grep', 'Glob', 'LSP'])
const SYSTEM_PATH = /^\/(bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|Volumes)\//

/** Throws `invalid_input` for a malformed rule or path pattern. */
export function validateRules(policy: Policy): void {
  for (const rule of allRules(policy)) {
    const { tool, pattern } = parsePermissionRule(rule)
    if (pattern !== undefined && FILE_TOOLS.has(tool)) compileGlob(pattern, { braces: true, embeddedGlobstar: true })
  }
}

export function lintRules(policy: Policy, context: RuleLintContext): RuleWarning[] {
  return allRules(policy).flatMap((rule) => {
    const reason = ruleProblem(rule, context)
    return reason === undefined ? [] : { rule, reason }
  })
}

/** Rules whose tool does not exist. */
export function unmatchedRules(policy: Policy, tools: readonly string[]): string[] {
  return allRules(policy).filter((rule) => !tools.some((tool) => matchesTool(parsePermissionRule(rule).tool, tool)))
}

function allRules({ allow = [], ask = [], deny = [] }: Policy): string[] {
  return [...allow, ...ask, ...deny]
}

function ruleProblem(rule: string, context: RuleLintContext): string | undefined {
  const { tool, pattern } = parsePermissionRule(rule)
  if (tool.startsWith('mcp__')) {
    const prefix = tool.replace(/\*$/, '')
    const isKnown = [...(context.servers ?? []), ...context.tools].some(
      (name) => prefix.startsWith(name) || name.startsWith(prefix),
    )
    return isKnown || !context.servers ? undefined : 'no MCP server has this name'
  }
  if (!context.tools.some((name) => matchesTool(tool, name))) return UNKNOWN_TOOL_REASON
  if (pattern === undefined) return undefined
  if (context.plain?.includes(tool)) return `${tool} takes no pattern; write ${tool}`
  if (tool === 'Bash') return commandPatternProblem(pattern)
  if (tool === 'WebFetch') return hostPatternProblem(pattern)
  if (/^domain:/i.test(pattern)) return `a domain: pattern works for WebFetch only, not for ${tool}`
  if (FILE_TOOLS.has(tool)) return pathPatternProblem(pattern)
  return /^(task|Task|Agent)$/.test(tool) ? agentPatternProblem(pattern, context) : undefined
}

function commandPatternProblem(pattern: string): string | undefined {
  if (/[;|&\n]/.test(pattern))
    return 'the pattern contains several commands, but is matched against one command at a time'
  if (/[$`<>]/.test(pattern))
    return 'a pattern with substitution or redirection matches only the identical command line'
  return undefined
}

function hostPatternProblem(pattern: string): string | undefined {
  const [, host = '', path = ''] = HOST_PATTERN.exec(pattern) ?? []
  if (!/^(\/\*{0,2})?$/.test(path)) {
    return 'WebFetch rules compare only the host: as a deny rule this denies the whole host, as an allow rule it allows nothing'
  }
  const isHost = host !== '' && !/[\s@?#]/.test(host) && URL.canParse(`http://${host.replaceAll('*', 'a')}`)
  return isHost ? undefined : 'the pattern is not a valid host name'
}

function pathPatternProblem(pattern: string): string | undefined {
  const workspaceOnly = 'file tools work inside the workspace only, and paths are relative to its root'
  if (pattern.includes('://')) return 'the pattern is a URL, not a path'
  if (/^~/.test(pattern)) return `~ is not expanded: ${workspaceOnly}`
  if (pattern.split('/').includes('..'))
    return `paths are resolved before they are checked and never contain ..: ${workspaceOnly}`
  if (pattern.startsWith('//') || /^[A-Za-z]:[\\/]/.test(pattern)) return workspaceOnly
  if (SYSTEM_PATH.test(pattern)) return `it matches ${pattern.slice(1)} in the workspace: ${workspaceOnly}`
  return /\\[^*?[\]{}\\]/.test(pattern) ? 'write / between folders; \\ escapes the next character' : undefined
}

function agentPatternProblem(pattern: string, { agents }: RuleLintContext): string | undefined {
  if (!agents || /[*?[{]/.test(pattern) || pattern === 'self' || agents.includes(pattern)) return undefined
  return `no agent has the name '${pattern}'`
}
