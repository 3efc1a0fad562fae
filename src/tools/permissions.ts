import type { CheckedCall, Policy } from '../judgement/permission/permission-policy.ts'
import { evaluatePolicies } from '../judgement/permission/permission-policy.ts'
import type { RuleLintContext } from '../judgement/permission/rule-lint.ts'
import { lintRules, validateRules } from '../judgement/permission/rule-lint.ts'
import type { Agent } from '../kernel/agent.ts'
import type { PermissionRequest, Permissions } from '../kernel/permission.ts'
import { agentSlug } from '../kernel/session/session-state.ts'

/** The names by which rules may speak of tools and agents. */
export interface KnownNames {
  /** Every name of each tool that has more than one, by the name it is registered under. */
  aliases: ReadonlyMap<string, readonly string[]>
  agents: readonly Agent[]
}

/**
 * The rules of now, those the run was started with, the agent's own and those it has its tools under hold together. What people granted in this run
 * answers what would be asked. The agent that the operator named may use the tools that its file names without asking.
 */
export function createPermissions(policy: Policy, names: KnownNames): Permissions {
  return {
    decide(asked) {
      const { agent, inheritedRules, grantedRules, read_only, isRootAgent, runRules, fingerprint } = asked
      const given = isRootAgent && agent.origin?.by !== 'model' && agent.tools?.includes(asked.tool) === true
      const start = (runRules ?? {}) as Policy
      const rules = [policy, start].map(({ mode, ...lists }) => (given || !mode ? lists : { ...lists, mode }))
      const call = toJudgedCall(asked, names)
      const planning = read_only ? [{ mode: 'read' as const }] : []
      const judged = evaluatePolicies([...rules, ...inheritedRules, agent.permissions ?? {}, ...planning], call)
      if (judged.decision !== 'ask') return judged
      const { excludedGlobs } = judged
      const kept = excludedGlobs ? { excludedGlobs } : undefined
      if (grantedRules.includes(`=${fingerprint}`))
        return { decision: 'allow', reason: 'a person said always', allowedRules: [], ...kept }
      if (judged.needsExactApproval) return judged
      const again = evaluatePolicies([{ allow: grantedRules.filter((rule) => !rule.startsWith('=')) }], call)
      return again.decision === 'allow' && again.allowedRules.length > 0 ? { ...again, ...kept } : judged
    },
  }
}

/** The call under all names that rules may know it by. */
function toJudgedCall({ agent, tool, subject, acts }: PermissionRequest, { aliases, agents }: KnownNames): CheckedCall {
  const call = { tool, aliases: aliases.get(tool) ?? [], acts }
  if (subject === undefined) return call
  if (tool === 'collaborate') {
    const put = subject.split(', ')
    return { ...call, subject, relatedSubjects: [...put, ...put.flatMap((name) => agentAliases(name, agent, agents))] }
  }
  if (tool !== 'task') return { ...call, subject }
  // A session's id may stand for several agents: any of them may be the one that is forbidden.
  const relatedSubjects = agents.flatMap(({ name }) => (agentSlug(name) === subject ? name : []))
  return { ...call, subject, subjectAliases: agentAliases(subject, agent, agents), relatedSubjects }
}

function agentAliases(subject: string, caller: Agent, agents: readonly Agent[]): string[] {
  const names = agents.filter((each) => agentNames(each).includes(subject)).flatMap(agentNames)
  return subject === caller.name ? [...names, 'self'] : names
}

/** An agent by its name, and in its collection. */
export function agentNames({ name, origin }: Agent): string[] {
  return origin?.by === 'user' && origin.collection !== undefined ? [name, `${origin.collection}:${name}`] : [name]
}

/** Refuses rules that are none; tells of those that cannot be meant. */
export function checkPolicy(policy: Policy, terms: RuleLintContext, warn: (problem: string) => void): void {
  validateRules(policy)
  for (const { rule, reason } of lintRules(policy, terms))
    warn(`troupe: the rule ${rule} does not do what it seems to: ${reason}`)
}

/** The same for rules of agents' files. Tools that are not here are no mistake there. */
export function checkAgentRules(
  agents: readonly Agent[],
  terms: RuleLintContext,
  warn: (problem: string) => void,
): void {
  for (const { name, permissions, origin } of agents) {
    // What stands in a file was looked at when the file was read.
    if (!permissions || (origin?.by === 'user' && origin.path !== undefined)) continue
    try {
      validateRules(permissions)
      const odd = lintRules(permissions, terms).filter(({ reason }) => reason !== 'no tool has this name')
      for (const { rule, reason } of odd)
        warn(`troupe: in the file of ${name}, the rule ${rule} does not do what it seems to: ${reason}`)
    } catch (thrown) {
      warn(`troupe: in the file of ${name}: ${(thrown as Error).message}`)
    }
  }
}
