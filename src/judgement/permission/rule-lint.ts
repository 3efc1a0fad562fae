import { compileGlob } from './glob-matcher.ts'
import type { Policy } from './permission-policy.ts'
import { matchesTool, parsePermissionRule } from './permission-rule.ts'

/*
 * Rules that protect or allow nothing, or not what they seem to, with the reason: whoever wrote one relies on it.
 */

/** What rules can be about. */
export interface RuleLintContext {
  tools: readonly string[]
  /** Tools whose calls cannot be told apart. */
  plain?: readonly string[]
  agents?: readonly string[]
  /** How the names of servers' tools begin; absent where servers are not known. */
  servers?: readonly string[]
}

export interface RuleWarning {
  rule: string
  reason: string
}

const FILE_TOOLS = new Set(['Read', 'Write', 'Edit', 'Grep', 'Glob', 'LSP'])
const SYSTEM_PATH = /^\/(bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|Volumes)\//

/** Throws `invalid_input` for what is no rule, or has a pattern that nobody can read. */
export function validateRules(policy: Policy): void {
  for (const rule of allRules(policy)) {
    const { tool, pattern } = parsePermissionRule(rule)
    if (pattern !== undefined && FILE_TOOLS.has(tool)) compileGlob(pattern, { braces: true, embeddedGlobstar: true })
  }
}

export function lintRules(policy: Policy, terms: RuleLintContext): RuleWarning[] {
  return allRules(policy).flatMap((rule) => {
    const reason = ruleProblem(rule, terms)
    return reason === undefined ? [] : { rule, reason }
  })
}

/** Rules that name no tool that exists. */
export function unmatchedRules(policy: Policy, tools: readonly string[]): string[] {
  return allRules(policy).filter((rule) => !tools.some((tool) => matchesTool(parsePermissionRule(rule).tool, tool)))
}

function allRules({ allow = [], ask = [], deny = [] }: Policy): string[] {
  return [...allow, ...ask, ...deny]
}

function ruleProblem(rule: string, terms: RuleLintContext): string | undefined {
  const { tool, pattern } = parsePermissionRule(rule)
  if (tool.startsWith('mcp__')) {
    const start = tool.replace(/\*$/, '')
    const known = [...(terms.servers ?? []), ...terms.tools].some(
      (name) => start.startsWith(name) || name.startsWith(start),
    )
    return known || !terms.servers ? undefined : 'no server is called that'
  }
  if (!terms.tools.some((name) => matchesTool(tool, name))) return 'no tool has this name'
  if (pattern === undefined) return undefined
  if (terms.plain?.includes(tool)) return `calls of ${tool} are not told apart; write ${tool}`
  if (tool === 'Bash') return commandPatternProblem(pattern)
  if (tool === 'WebFetch') return hostPatternProblem(pattern)
  if (/^domain:/i.test(pattern)) return `hosts are told apart for WebFetch only, not for ${tool}`
  if (FILE_TOOLS.has(tool)) return pathPatternProblem(pattern)
  return /^(task|Task|Agent)$/.test(tool) ? agentPatternProblem(pattern, terms) : undefined
}

function commandPatternProblem(pattern: string): string | undefined {
  if (/[;|&\n]/.test(pattern)) return 'it is compared with one command at a time, and holds several'
  if (/[$`<>]/.test(pattern)) return 'substitution and redirection match no pattern but the exact command'
  return undefined
}

function hostPatternProblem(pattern: string): string | undefined {
  const [, host = '', path = ''] = /^(?:domain:)?(?:[a-z][a-z0-9+.-]*:\/\/)?([^/]*)(\/.*)?$/i.exec(pattern) ?? []
  if (!/^(\/\*{0,2})?$/.test(path)) {
    return 'only the host of an address is looked at: this forbids the whole host, and allows nothing'
  }
  const isHost = host !== '' && !/[\s@?#]/.test(host) && URL.canParse(`http://${host.replaceAll('*', 'a')}`)
  return isHost ? undefined : 'no host can be called that'
}

function pathPatternProblem(pattern: string): string | undefined {
  const inside = 'tools never leave the workspace, and paths are written from its root'
  if (pattern.includes('://')) return 'it is an address, not a path'
  if (/^~/.test(pattern)) return `there is no home: ${inside}`
  if (pattern.split('/').includes('..')) return `no path has .. in it by then: ${inside}`
  if (pattern.startsWith('//') || /^[A-Za-z]:[\\/]/.test(pattern)) return inside
  if (SYSTEM_PATH.test(pattern)) return `it is taken as ${pattern.slice(1)} of the workspace: ${inside}`
  return /\\[^*?[\]{}\\]/.test(pattern)
    ? 'folders are separated by /, and \\ takes the next character as it is'
    : undefined
}

function agentPatternProblem(pattern: string, { agents }: RuleLintContext): string | undefined {
  if (!agents || /[*?[{]/.test(pattern) || pattern === 'self' || agents.includes(pattern)) return undefined
  return `no agent is called ${pattern}`
}
