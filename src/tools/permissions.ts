import type { CheckedCall, Policy } from '../judgement/permission/permission-policy.ts'
import { evaluatePolicies } from '../judgement/permission/permission-policy.ts'
import type { RuleLintContext } from '../judgement/permission/rule-lint.ts'
import { lintRules, UNKNOWN_TOOL_REASON, validateRules } from '../judgement/permission/rule-lint.ts'
import type { Agent } from '../kernel/agent.ts'
import type { PermissionRequest, Permissions, ToolRules } from '../kernel/permission.ts'
import { agentSlug } from '../kernel/session/session-state.ts'

/** The tool and agent names that rules can refer to. */
export interface KnownNames {
  /** All names of a tool that has several, keyed by its registered name. */
  aliases: ReadonlyMap<string, readonly string[]>
  /** All names of the tools that take agents as their subject. */
  agentTools: readonly string[]
  agents: readonly Agent[]
}

/**
 * Combines the current policy, the policy of the run's start, the agent's own rules and the rules inherited from its callers;
 * the strictest wins. Grants that people gave in this run answer an `ask`. The root agent may use the tools that its file
 * lists without asking.
 */
export function createPermissions(policy: Policy, names: KnownNames): Permissions {
  return {
    decide(request) {
      const { agent, inheritedRules, grantedRules, read_only, isRootAgent, runRules, fingerprint } = request
      const isListedTool = isRootAgent && agent.origin?.by !== 'model' && agent.tools?.includes(request.tool) === true
      const startPolicy = (runRules ?? {}) as Policy
      const current = withStartRules(policy, startPolicy)
      const policies = [current, startPolicy].map(({ mode, ...lists }) =>
        isListedTool || !mode ? lists : { ...lists, mode },
      )
      const call = toCheckedCall(request, names)
      const planMode = read_only ? [{ mode: 'read' as const }] : []
      const decision = evaluatePolicies([...policies, ...inheritedRules, agent.permissions ?? {}, ...planMode], call)
      if (decision.decision !== 'ask') return decision
      const exclusions = decision.excludedGlobs ? { excludedGlobs: decision.excludedGlobs } : undefined
      if (grantedRules.includes(`=${fingerprint}`))
        return { decision: 'allow', reason: 'a person answered `always`', allowedRules: [], ...exclusions }
      if (decision.needsExactApproval) return decision
      const granted = evaluatePolicies([{ allow: grantedRules.filter((rule) => !rule.startsWith('=')) }], call)
      const isGranted = granted.decision === 'allow' && granted.allowedRules.length > 0
      return isGranted ? { ...granted, ...exclusions } : decision
    },
    describe: (rules) => describeRules(policy, rules),
  }
}

/**
 * What the run was allowed at its start needs no new approval when it is resumed without `allow` rules. Rules of the current policy that ask or deny
 * still win, and so does a stricter mode.
 */
function withStartRules(policy: Policy, start: Policy): Policy {
  if (policy.mode !== 'ask' || start.mode !== 'ask' || !start.allow || policy.allow?.length) return policy
  return { ...policy, allow: start.allow }
}

/** Names of rules in a description: the rest is found out by asking. */
const MAX_DESCRIBED_RULES = 20

/** A model that does not know its allowed calls tries others, and pays for each in a turn. */
function describeRules(policy: Policy, { agent, inheritedRules, tool, runRules }: ToolRules): string | undefined {
  const restrictions = [agent.permissions ?? {}, ...inheritedRules].map(({ allow = [] }) =>
    allowedPatterns(allow, tool),
  )
  const own = restrictions.find((patterns) => patterns.length > 0)
  if (own) return `Only these are allowed: ${formatPatterns(own)}.`
  const start = (runRules ?? {}) as Policy
  const free = [policy, start].flatMap(({ allow = [] }) => allowedPatterns(allow, tool))
  const asks = policy.mode === 'ask' || start.mode === 'ask'
  return free.length > 0 && asks ? `Without approval by a person: ${formatPatterns(free)}.` : undefined
}

/** The patterns of rules such as `Bash(npm test:*)`; none if a rule allows every call. */
function allowedPatterns(rules: readonly string[], tool: string): string[] {
  const patterns = rules
    .map((rule) => /^([^()\s]+)(?:\((.*)\))?$/s.exec(rule.trim()))
    .flatMap((parts) => (parts?.[1] === tool ? (parts[2] ?? '*').trim() : []))
  return patterns.some((pattern) => ['', '*', ':*'].includes(pattern)) ? [] : patterns
}

function formatPatterns(patterns: readonly string[]): string {
  const unique = [...new Set(patterns.map((pattern) => pattern.replace(/:\*$/, ' *')))]
  const rest = unique.length > MAX_DESCRIBED_RULES ? ', and more' : ''
  return `${unique.slice(0, MAX_DESCRIBED_RULES).join(', ')}${rest}`
}

/** The call with all names that rules can match. */
function toCheckedCall(
  { agent, tool, subject, agents: named, acts }: PermissionRequest,
  { aliases, agentTools, agents }: KnownNames,
): CheckedCall {
  const call = { tool, aliases: aliases.get(tool) ?? [], acts }
  if (subject === undefined) return call
  if (!named) return { ...call, subject }
  const otherNames = named.flatMap((name) => agentAliases(name, agent, agents))
  // Several agents can share a session slug: a deny rule for any of them must match.
  const sameSlug = agents.flatMap(({ name }) => (named.includes(agentSlug(name)) ? name : []))
  const related = { subject, agentTools, relatedSubjects: [...named, ...otherNames, ...sameSlug] }
  return named.length === 1 ? { ...call, ...related, subjectAliases: otherNames } : { ...call, ...related }
}

function agentAliases(subject: string, caller: Agent, agents: readonly Agent[]): string[] {
  const names = agents.filter((other) => agentNames(other).includes(subject)).flatMap(agentNames)
  return subject === caller.name ? [...names, 'self'] : names
}

/** The name of an agent, plain and qualified with its collection. */
export function agentNames({ name, origin }: Agent): string[] {
  return origin?.by === 'user' && origin.collection !== undefined ? [name, `${origin.collection}:${name}`] : [name]
}

/** Throws on invalid rules; warns about rules that cannot have their apparent effect. */
export function checkPolicy(policy: Policy, context: RuleLintContext, warn: (problem: string) => void): void {
  validateRules(policy)
  for (const { rule, reason } of lintRules(policy, context))
    warn(`troupe: the rule ${rule} does not do what it seems to: ${reason}`)
}

/** Warns about the rules of agents. A tool name that is unknown here is no mistake: agent files are portable. */
export function checkAgentRules(
  agents: readonly Agent[],
  context: RuleLintContext,
  warn: (problem: string) => void,
): void {
  for (const { name, permissions, origin } of agents) {
    // Rules of agent files were checked when the file was parsed.
    if (!permissions || (origin?.by === 'user' && origin.path !== undefined)) continue
    try {
      validateRules(permissions)
      const problems = lintRules(permissions, context).filter(({ reason }) => reason !== UNKNOWN_TOOL_REASON)
      for (const { rule, reason } of problems)
        warn(`troupe: agent ${name}: the rule ${rule} does not do what it seems to: ${reason}`)
    } catch (thrown) {
      warn(`troupe: agent ${name}: ${(thrown as Error).message}`)
    }
  }
}
