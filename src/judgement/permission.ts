import type { CommandGrant } from './command-grant.ts'
import { grantCommand } from './command-grant.ts'
import { commandTouches } from './command-rule.ts'
import { hostIsAllowed, hostIsForbidden } from './domain-rule.ts'
import type { Touch } from './named-command.ts'
import { strongest } from './named-command.ts'
import { argumentsAreAllowed, pathForbidder, pathIsAllowed } from './path-rule.ts'
import { parseRule, toolForbids, toolLimits, toolMatches } from './rule.ts'
import { starsMatch } from './stars.ts'

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

export interface JudgedCall {
  tool: string
  /** What else the tool is called. */
  aliases?: readonly string[]
  /** What the call is about: a path, a command, an address. */
  subject?: string
  /** What else that is called. */
  also?: readonly string[]
  /** What it is about among other things: enough for what forbids, not for what allows. */
  parts?: readonly string[]
  acts: boolean
}

export interface Judgement {
  answer: 'allow' | 'ask' | 'deny'
  /** In words, for the model and the log. */
  reason: string
  /** What would have been allowed. */
  allowed: string[]
  /** It is asked for because it may be denied: only a yes to this very call answers that. */
  unsure?: true
  /** Patterns of files that a search must leave out. */
  except?: string[]
}

/** The strictest of what the policies say. */
export function judge(policies: readonly Policy[], call: JudgedCall): Judgement {
  const verdicts = policies.map((policy) => judgeOne(policy, call))
  const strictest = verdicts.find(({ answer }) => answer === 'deny') ??
    verdicts.find(({ answer }) => answer === 'ask') ??
    verdicts.find(({ allowed }) => allowed.length > 0) ?? { answer: 'allow', reason: 'no rule names it', allowed: [] }
  const except = SEARCHES.has(call.tool) ? policies.flatMap((policy) => keptFromSearches(policy, call)) : []
  return except.length > 0 ? { ...strictest, except } : strictest
}

const SEARCHES = new Set(['Grep', 'Glob'])

function keptFromSearches({ deny = [], ask = [] }: Policy, call: JudgedCall): string[] {
  return [...deny, ...ask].flatMap((rule) => {
    const parsed = parseRule(rule)
    const isAbout = namesOf(call).some((name) => toolForbids(parsed, name))
    return parsed.pattern !== undefined && isAbout ? parsed.pattern : []
  })
}

function judgeOne(policy: Policy, call: JudgedCall): Judgement {
  const { allow = [], ask = [], deny = [] } = policy
  const allowed = allow.filter((rule) => namesOf(call).some((name) => toolLimits(parseRule(rule).tool, name)))
  const denied = deny.map((rule) => [rule, touches(rule, call)] as const)
  const sure = denied.find(([, touch]) => touch === 'yes')
  if (sure) return { answer: 'deny', reason: `the rule ${sure[0]} denies it`, allowed }
  const otherwise = permitted(policy, call, allowed)
  const unsure = denied.find(([, touch]) => touch === 'maybe')
  if (unsure) {
    const reason = `it cannot be seen whether the rule ${unsure[0]} denies it`
    return otherwise.answer === 'deny' ? otherwise : { answer: 'ask', reason, allowed, unsure: true }
  }
  const asked = ask.find((rule) => touches(rule, call) !== 'no')
  return asked === undefined ? otherwise : { answer: 'ask', reason: `the rule ${asked} wants it asked for`, allowed }
}

/** What holds where no rule forbids. */
function permitted({ allow = [], mode }: Policy, call: JudgedCall, allowed: string[]): Judgement {
  const { by, why } = granting(allow, call)
  if (by !== undefined) return { answer: 'allow', reason: `the rule ${by.join(' and ')} allows it`, allowed }
  const because = why === undefined ? '' : `; ${why}`
  if (allowed.length > 0) return { answer: 'deny', reason: `only ${allowed.join(', ')} is allowed${because}`, allowed }
  if (mode === 'read' && call.acts) return { answer: 'deny', reason: 'nothing may be changed now', allowed }
  if (mode === 'ask' && call.acts) return { answer: 'ask', reason: 'whatever acts is asked for', allowed }
  return { answer: 'allow', reason: 'no rule names it', allowed }
}

function namesOf({ tool, aliases = [] }: JudgedCall): string[] {
  return [tool, ...aliases]
}

/** The rules that allow the call: for a command, one for each of its parts. */
function granting(rules: readonly string[], call: JudgedCall): CommandGrant {
  const whole = rules.find((rule) => matches(rule, call))
  if (whole !== undefined) return { by: [whole] }
  return call.tool === 'Bash' ? grantedInParts(rules, call) : {}
}

function grantedInParts(rules: readonly string[], call: JudgedCall): CommandGrant {
  const ruleOf = new Map<string, string>()
  for (const rule of rules) {
    const { tool, pattern } = parseRule(rule)
    if (pattern === undefined || !namesOf(call).some((name) => toolMatches(tool, name))) continue
    for (const each of commandsIn(pattern)) if (!ruleOf.has(each)) ruleOf.set(each, rule)
  }
  const { by, why } = grantCommand([...ruleOf.keys()], call.subject ?? '')
  if (by !== undefined) return { by: [...new Set(by.map((each) => ruleOf.get(each) ?? each))] }
  return why === undefined ? {} : { why }
}

/**
 * Whether a forbidding rule is about the call, or about any part of it. What cannot be judged counts as touched, or as
 * perhaps touched: a rule that forbids must not be talked past.
 */
function touches(rule: string, call: JudgedCall): Touch {
  const parsed = parseRule(rule)
  const { pattern } = parsed
  if (!namesOf(call).some((name) => toolForbids(parsed, name))) return 'no'
  if (pattern === undefined) return 'yes'
  const subjects = [call.subject ?? '', ...(call.also ?? []), ...(call.parts ?? [])]
  if (call.tool === 'Bash') {
    if (pattern === call.subject?.trim()) return 'yes'
    return strongest(commandsIn(pattern).map((each) => commandTouches(each, call.subject ?? '')))
  }
  return subjects.some(forbidder(pattern, call)) ? 'yes' : 'no'
}

function forbidder(pattern: string, call: JudgedCall): (subject: string) => boolean {
  if (isOfServer(call)) return (subject) => starsMatch(pattern, subject)
  return isAboutHosts(pattern, call) ? (subject) => hostIsForbidden(pattern, subject) : pathForbidder(pattern)
}

/** Calls of servers' tools are told apart by their arguments as JSON, where braces are braces. */
function isOfServer({ tool }: JudgedCall): boolean {
  return tool.startsWith('mcp__')
}

function matches(rule: string, call: JudgedCall): boolean {
  const { tool, pattern } = parseRule(rule)
  if (!namesOf(call).some((name) => toolMatches(tool, name))) return false
  if (pattern === undefined) return true
  const subjects = [call.subject ?? '', ...(call.also ?? [])]
  if (call.tool === 'Bash') return pattern === call.subject?.trim()
  if (isOfServer(call)) return argumentsAreAllowed(pattern, call.subject ?? '')
  if (isAboutHosts(pattern, call)) return subjects.some((subject) => hostIsAllowed(pattern, subject))
  return subjects.some((subject) => pathIsAllowed(pattern, subject))
}

function isAboutHosts(pattern: string, { tool }: JudgedCall): boolean {
  return tool === 'WebFetch' || /^domain:/i.test(pattern)
}

/** Some write several into one: `Bash(git log:*, git diff:*)`. */
function commandsIn(pattern: string): string[] {
  return pattern.split(/(?<=:\*)\s*,\s*/)
}
