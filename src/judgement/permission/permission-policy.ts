import type { CommandGrant } from './command-allow-rule.ts'
import { findCommandGrants } from './command-allow-rule.ts'
import type { RuleMatch } from './command-deny-pattern.ts'
import { strongestMatch } from './command-deny-pattern.ts'
import { matchDeniedCommand } from './command-deny-rule.ts'
import { isHostAllowedByRule, isHostDeniedByRule } from './domain-rule.ts'
import { areArgumentsAllowed, deniedPathMatcher, isPathAllowed } from './path-rule.ts'
import { deniesTool, matchesTool, parsePermissionRule, restrictsTool } from './permission-rule.ts'
import { matchesWildcard } from './wildcard.ts'

/*
 * Decides whether a call may be made, from rules such as `Bash(npm test:*)` or `Write(src/**)`.
 * 1. A rule that denies wins over one that asks, and that over one that allows, whichever list it comes from.
 * 2. Where a policy allows a tool only in some cases, every other case is denied.
 * 3. A shell command is allowed only if each of its parts is; it is denied if any part is. Both are read alike. What cannot
 *    be taken apart (substitution, parentheses) matches no allowance but the exact one, and is asked for where a rule
 *    might deny it.
 * 4. A search is not forbidden because of what it might come upon: that is named in `except`, for it to leave out.
 */

/** What one author (a run's configuration, an agent's file) says about calls. */
export interface Policy {
  allow?: readonly string[]
  ask?: readonly string[]
  deny?: readonly string[]
  /** `read`: nothing may act. `ask`: whatever acts is asked for. Default: what no rule names is allowed. */
  mode?: 'read' | 'ask'
}

export interface CheckedCall {
  tool: string
  /** What else the tool is called. */
  aliases?: readonly string[]
  /** What the call is about: a path, a command, an address. */
  subject?: string
  /** What else that is called. */
  subjectAliases?: readonly string[]
  /** What it is about among other things: enough for what forbids, not for what allows. */
  relatedSubjects?: readonly string[]
  acts: boolean
}

export interface PolicyDecision {
  decision: 'allow' | 'ask' | 'deny'
  /** In words, for the model and the log. */
  reason: string
  /** What would have been allowed. */
  allowedRules: string[]
  /** It is asked for because it may be denied: only a yes to this very call answers that. */
  needsExactApproval?: true
  /** Patterns of files that a search must leave out. */
  excludedGlobs?: string[]
}

/** The strictest of what the policies say. */
export function evaluatePolicies(policies: readonly Policy[], call: CheckedCall): PolicyDecision {
  const verdicts = policies.map((policy) => evaluatePolicy(policy, call))
  const strictest = verdicts.find(({ decision }) => decision === 'deny') ??
    verdicts.find(({ decision }) => decision === 'ask') ??
    verdicts.find(({ allowedRules }) => allowedRules.length > 0) ?? {
      decision: 'allow',
      reason: 'no rule names it',
      allowedRules: [],
    }
  const excludedGlobs = SEARCH_TOOLS.has(call.tool) ? policies.flatMap((policy) => searchExclusions(policy, call)) : []
  return excludedGlobs.length > 0 ? { ...strictest, excludedGlobs } : strictest
}

const SEARCH_TOOLS = new Set(['Grep', 'Glob'])

function searchExclusions({ deny = [], ask = [] }: Policy, call: CheckedCall): string[] {
  return [...deny, ...ask].flatMap((rule) => {
    const parsed = parsePermissionRule(rule)
    const isAbout = toolNames(call).some((name) => deniesTool(parsed, name))
    return parsed.pattern !== undefined && isAbout ? parsed.pattern : []
  })
}

function evaluatePolicy(policy: Policy, call: CheckedCall): PolicyDecision {
  const { allow = [], ask = [], deny = [] } = policy
  const allowedRules = allow.filter((rule) =>
    toolNames(call).some((name) => restrictsTool(parsePermissionRule(rule).tool, name)),
  )
  const denied = deny.map((rule) => [rule, matchRule(rule, call)] as const)
  const sure = denied.find(([, touch]) => touch === 'yes')
  if (sure) return { decision: 'deny', reason: `the rule ${sure[0]} denies it`, allowedRules }
  const otherwise = defaultDecision(policy, call, allowedRules)
  const unsure = denied.find(([, touch]) => touch === 'maybe')
  if (unsure) {
    const reason = `it cannot be seen whether the rule ${unsure[0]} denies it`
    return otherwise.decision === 'deny'
      ? otherwise
      : { decision: 'ask', reason, allowedRules, needsExactApproval: true }
  }
  const asked = ask.find((rule) => matchRule(rule, call) !== 'no')
  return asked === undefined
    ? otherwise
    : { decision: 'ask', reason: `the rule ${asked} wants it asked for`, allowedRules }
}

/** What holds where no rule forbids. */
function defaultDecision({ allow = [], mode }: Policy, call: CheckedCall, allowedRules: string[]): PolicyDecision {
  const { allowedBy, reason } = findGrant(allow, call)
  if (allowedBy !== undefined)
    return { decision: 'allow', reason: `the rule ${allowedBy.join(' and ')} allows it`, allowedRules }
  const because = reason === undefined ? '' : `; ${reason}`
  if (allowedRules.length > 0)
    return { decision: 'deny', reason: `only ${allowedRules.join(', ')} is allowed${because}`, allowedRules }
  if (mode === 'read' && call.acts) return { decision: 'deny', reason: 'nothing may be changed now', allowedRules }
  if (mode === 'ask' && call.acts) return { decision: 'ask', reason: 'whatever acts is asked for', allowedRules }
  return { decision: 'allow', reason: 'no rule names it', allowedRules }
}

function toolNames({ tool, aliases = [] }: CheckedCall): string[] {
  return [tool, ...aliases]
}

/** The rules that allow the call: for a command, one for each of its parts. */
function findGrant(rules: readonly string[], call: CheckedCall): CommandGrant {
  const whole = rules.find((rule) => isAllowedBy(rule, call))
  if (whole !== undefined) return { allowedBy: [whole] }
  return call.tool === 'Bash' ? findCommandGrant(rules, call) : {}
}

function findCommandGrant(rules: readonly string[], call: CheckedCall): CommandGrant {
  const ruleOf = new Map<string, string>()
  for (const rule of rules) {
    const { tool, pattern } = parsePermissionRule(rule)
    if (pattern === undefined || !toolNames(call).some((name) => matchesTool(tool, name))) continue
    for (const each of splitCommandPatterns(pattern)) if (!ruleOf.has(each)) ruleOf.set(each, rule)
  }
  const { allowedBy, reason } = findCommandGrants([...ruleOf.keys()], call.subject ?? '')
  if (allowedBy !== undefined) return { allowedBy: [...new Set(allowedBy.map((each) => ruleOf.get(each) ?? each))] }
  return reason === undefined ? {} : { reason }
}

/**
 * Whether a forbidding rule is about the call, or about any part of it. What cannot be judged counts as touched, or as
 * perhaps touched: a rule that forbids must not be talked past.
 */
function matchRule(rule: string, call: CheckedCall): RuleMatch {
  const parsed = parsePermissionRule(rule)
  const { pattern } = parsed
  if (!toolNames(call).some((name) => deniesTool(parsed, name))) return 'no'
  if (pattern === undefined) return 'yes'
  const subjects = [call.subject ?? '', ...(call.subjectAliases ?? []), ...(call.relatedSubjects ?? [])]
  if (call.tool === 'Bash') {
    if (pattern === call.subject?.trim()) return 'yes'
    return strongestMatch(splitCommandPatterns(pattern).map((each) => matchDeniedCommand(each, call.subject ?? '')))
  }
  return subjects.some(denyMatcher(pattern, call)) ? 'yes' : 'no'
}

function denyMatcher(pattern: string, call: CheckedCall): (subject: string) => boolean {
  if (isMcpCall(call)) return (subject) => matchesWildcard(pattern, subject)
  return isHostRule(pattern, call) ? (subject) => isHostDeniedByRule(pattern, subject) : deniedPathMatcher(pattern)
}

/** Calls of servers' tools are told apart by their arguments as JSON, where braces are braces. */
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

/** Some write several into one: `Bash(git log:*, git diff:*)`. */
function splitCommandPatterns(pattern: string): string[] {
  return pattern.split(/(?<=:\*)\s*,\s*/)
}
