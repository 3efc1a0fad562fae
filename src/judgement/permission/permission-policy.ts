import type { CommandGrant } from './command-allow-rule.ts'
import { findCommandGrants } from './command-allow-rule.ts'
import type { RuleMatch } from './command-deny-pattern.ts'
import { strongestMatch } from './command-deny-pattern.ts'
import { matchDeniedCommand } from './command-deny-rule.ts'
import { isHostAllowedByRule, isHostDeniedByRule } from './domain-rule.ts'
import { areArgumentsAllowed, deniedPathMatcher, isPathAllowed } from './path-rule.ts'
import { deniesTool, matchesTool, matchesWildcard, parsePermissionRule, restrictsTool } from './permission-rule.ts'

/*
 * Decides whether a tool call is permitted, from rules such as `Bash(npm test:*)` or `Write(src/**)`.
 * 1. Deny rules win over ask rules, and ask rules over allow rules, in whichever policy they are.
 * 2. When a policy has an allow rule for some calls of a tool, it denies the other calls of that tool.
 * 3. A shell line is allowed only if each of its commands is, and denied if any is. A line that cannot be parsed
 *    matches only an identical allow rule, and has to be approved by a person when a deny rule may apply.
 * 4. A search is not denied because of files it may find: those files are returned in `excludedGlobs`, and so are
 *    files that a command may change and that may not be read, and files that a file tool may not reach by another name.
 */

/** The rules of one source: the configuration of a run, or an agent file. */
export interface Policy {
  allow?: readonly string[]
  ask?: readonly string[]
  deny?: readonly string[]
  /** `read`: deny every action. `ask`: ask before every action. Default: allow calls that no rule matches. */
  mode?: 'read' | 'ask'
}

export interface CheckedCall {
  tool: string
  /** Other names of the tool. */
  aliases?: readonly string[]
  /** The path, command or host that the call acts on. */
  subject?: string
  /** Other names of the subject. */
  subjectAliases?: readonly string[]
  /** Further subjects, checked by deny and ask rules only. */
  relatedSubjects?: readonly string[]
  /** Tools that take agents as their subject, for a call of one of them: a deny rule for an agent holds for all of them. */
  agentTools?: readonly string[]
  /** The call has side effects. */
  acts: boolean
}

export interface PolicyDecision {
  decision: 'allow' | 'ask' | 'deny'
  /** Explanation for the model and the log. */
  reason: string
  /** Allow rules for this tool. */
  allowedRules: string[]
  /** A deny rule may apply: only a person's approval of this exact call lets it pass. */
  needsExactApproval?: true
  /** Globs of files that a search, or the look at what a command has changed, has to skip, and whose hard links a file tool refuses. */
  excludedGlobs?: string[]
}

/** The strictest decision of all policies. */
export function evaluatePolicies(policies: readonly Policy[], call: CheckedCall): PolicyDecision {
  const decisions = policies.map((policy) => evaluatePolicy(policy, call))
  const strictest = decisions.find(({ decision }) => decision === 'deny') ??
    decisions.find(({ decision }) => decision === 'ask') ??
    decisions.find(({ allowedRules }) => allowedRules.length > 0) ?? {
      decision: 'allow',
      reason: 'no rule applies',
      allowedRules: [],
    }
  const excludedGlobs = policies.flatMap((policy) => searchExclusions(policy, call))
  return excludedGlobs.length > 0 ? { ...strictest, excludedGlobs } : strictest
}

const SEARCH_TOOLS = new Set(['Grep', 'Glob'])
const FILE_TOOLS = new Set(['Read', 'Edit', 'Write'])

function searchExclusions({ deny = [], ask = [] }: Policy, call: CheckedCall): string[] {
  // The files that a command has changed are read afterwards, as if by `Read`; a file tool reads a file that may have other names.
  const names = [
    ...(SEARCH_TOOLS.has(call.tool) || FILE_TOOLS.has(call.tool) ? toolNames(call) : []),
    ...(call.tool === 'Bash' || FILE_TOOLS.has(call.tool) ? ['Read'] : []),
  ]
  return [...deny, ...ask].flatMap((rule) => {
    const parsed = parsePermissionRule(rule)
    const applies = names.some((name) => deniesTool(parsed, name))
    return parsed.pattern !== undefined && applies ? parsed.pattern : []
  })
}

function evaluatePolicy(policy: Policy, call: CheckedCall): PolicyDecision {
  const { allow = [], ask = [], deny = [] } = policy
  const allowedRules = allow.filter((rule) =>
    toolNames(call).some((name) => restrictsTool(parsePermissionRule(rule).tool, name)),
  )
  const matches = deny.map((rule) => ({ rule, match: matchRule(rule, call) }))
  const denying = matches.find(({ match }) => match === 'yes')
  if (denying) return { decision: 'deny', reason: `denied by the rule ${denying.rule}`, allowedRules }
  const fallback = defaultDecision(policy, call, allowedRules)
  const maybeDenying = matches.find(({ match }) => match === 'maybe')
  if (maybeDenying) {
    const reason = `the deny rule ${maybeDenying.rule} may apply: the command cannot be checked completely`
    return fallback.decision === 'deny' ? fallback : { decision: 'ask', reason, allowedRules, needsExactApproval: true }
  }
  const askRule = ask.find((rule) => matchRule(rule, call) !== 'no')
  return askRule === undefined
    ? fallback
    : { decision: 'ask', reason: `the ask rule ${askRule} requires approval`, allowedRules }
}

/** The decision when no deny or ask rule applies. */
function defaultDecision({ allow = [], mode }: Policy, call: CheckedCall, allowedRules: string[]): PolicyDecision {
  const { allowedBy, reason } = findGrant(allow, call)
  if (allowedBy !== undefined)
    return { decision: 'allow', reason: `allowed by the rule ${allowedBy.join(' and ')}`, allowedRules }
  const detail = reason === undefined ? '' : `; ${reason}`
  if (allowedRules.length > 0)
    return { decision: 'deny', reason: `only ${allowedRules.join(', ')} is allowed${detail}`, allowedRules }
  if (mode === 'read' && call.acts)
    return { decision: 'deny', reason: 'read-only mode: no action is allowed', allowedRules }
  if (mode === 'ask' && call.acts)
    return { decision: 'ask', reason: 'ask mode: every action requires approval', allowedRules }
  return { decision: 'allow', reason: 'no rule applies', allowedRules }
}

function toolNames({ tool, aliases = [] }: CheckedCall): string[] {
  return [tool, ...aliases]
}

/** The rules that allow the call: for a shell line, one for each of its commands. */
function findGrant(rules: readonly string[], call: CheckedCall): CommandGrant {
  const whole = rules.find((rule) => isAllowedBy(rule, call))
  if (whole !== undefined) return { allowedBy: [whole] }
  return call.tool === 'Bash' ? findCommandGrant(rules, call) : {}
}

function findCommandGrant(rules: readonly string[], call: CheckedCall): CommandGrant {
  const rulesByPattern = new Map<string, string>()
  for (const rule of rules) {
    const { tool, pattern } = parsePermissionRule(rule)
    if (pattern === undefined || !toolNames(call).some((name) => matchesTool(tool, name))) continue
    for (const part of splitCommandPatterns(pattern)) if (!rulesByPattern.has(part)) rulesByPattern.set(part, rule)
  }
  const { allowedBy, reason } = findCommandGrants([...rulesByPattern.keys()], call.subject ?? '')
  if (allowedBy !== undefined)
    return { allowedBy: [...new Set(allowedBy.map((pattern) => rulesByPattern.get(pattern) ?? pattern))] }
  return reason === undefined ? {} : { reason }
}

/**
 * Whether a deny or ask rule applies to the call or to any part of it. Fails closed: anything unknown is `maybe` or
 * `yes`.
 */
function matchRule(rule: string, call: CheckedCall): RuleMatch {
  const parsed = parsePermissionRule(rule)
  const { pattern } = parsed
  const namesAgent = pattern !== undefined && call.agentTools?.includes(parsed.tool) === true
  if (!namesAgent && !toolNames(call).some((name) => deniesTool(parsed, name))) return 'no'
  if (pattern === undefined) return 'yes'
  const subjects = [call.subject ?? '', ...(call.subjectAliases ?? []), ...(call.relatedSubjects ?? [])]
  if (call.tool === 'Bash') {
    if (pattern === call.subject?.trim()) return 'yes'
    return strongestMatch(splitCommandPatterns(pattern).map((part) => matchDeniedCommand(part, call.subject ?? '')))
  }
  return subjects.some(denyMatcher(pattern, call)) ? 'yes' : 'no'
}

function denyMatcher(pattern: string, call: CheckedCall): (subject: string) => boolean {
  if (isMcpCall(call)) return (subject) => matchesWildcard(pattern, subject)
  return isHostRule(pattern, call) ? (subject) => isHostDeniedByRule(pattern, subject) : deniedPathMatcher(pattern)
}

/** The subject of an MCP tool call is its arguments as JSON, in which braces are literal. */
function isMcpCall({ tool }: CheckedCall): boolean {
  return tool.startsWith('mcp__')
}

function isAllowedBy(rule: string, call: CheckedCall): boolean {
  const { tool, pattern } = parsePermissionRule(rule)
  if (!toolNames(call).some((name) => matchesTool(tool, name))) return false
  if (pattern === undefined) return true
  const subjects = [call.subject ?? '', ...(call.subjectAliases ?? [])]
  if (call.tool === 'Bash') return pattern === call.subject?.trim()
  if (isMcpCall(call)) return areArgumentsAllowed(pattern, call.subject ?? '')
  if (isHostRule(pattern, call)) return subjects.some((subject) => isHostAllowedByRule(pattern, subject))
  return subjects.some((subject) => isPathAllowed(pattern, subject))
}

function isHostRule(pattern: string, { tool }: CheckedCall): boolean {
  return tool === 'WebFetch' || /^domain:/i.test(pattern)
}

/** A rule may list several patterns: `Bash(git log:*, git diff:*)`. */
function splitCommandPatterns(pattern: string): string[] {
  return pattern.split(/(?<=:\*)\s*,\s*/)
}
