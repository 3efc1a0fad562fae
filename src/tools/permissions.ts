import type { RuleTerms } from '../judgement/odd-rules.ts'
import { checkRules, oddRules } from '../judgement/odd-rules.ts'
import type { JudgedCall, Policy } from '../judgement/permission.ts'
import { judge } from '../judgement/permission.ts'
import type { Agent } from '../kernel/agent.ts'
import type { PermissionCall, Permissions } from '../kernel/permission.ts'
import { agentInId } from '../kernel/session.ts'

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
export function permissionsOf(policy: Policy, names: KnownNames): Permissions {
  return {
    decide(asked) {
      const { agent, held, granted, read_only, root, recorded, exact } = asked
      const given = root && agent.origin?.by !== 'model' && agent.tools?.includes(asked.tool) === true
      const start = (recorded ?? {}) as Policy
      const rules = [policy, start].map(({ mode, ...lists }) => (given || !mode ? lists : { ...lists, mode }))
      const call = judgedCall(asked, names)
      const planning = read_only ? [{ mode: 'read' as const }] : []
      const judged = judge([...rules, ...held, agent.permissions ?? {}, ...planning], call)
      if (judged.answer !== 'ask') return judged
      const { except } = judged
      const kept = except ? { except } : undefined
      if (granted.includes(`=${exact}`))
        return { answer: 'allow', reason: 'a person said always', allowed: [], ...kept }
      if (judged.unsure) return judged
      const again = judge([{ allow: granted.filter((rule) => !rule.startsWith('=')) }], call)
      return again.answer === 'allow' && again.allowed.length > 0 ? { ...again, ...kept } : judged
    },
  }
}

/** The call under all names that rules may know it by. */
function judgedCall({ agent, tool, subject, acts }: PermissionCall, { aliases, agents }: KnownNames): JudgedCall {
  const call = { tool, aliases: aliases.get(tool) ?? [], acts }
  if (subject === undefined) return call
  if (tool === 'collaborate') {
    const put = subject.split(', ')
    return { ...call, subject, parts: [...put, ...put.flatMap((name) => namesOfAgent(name, agent, agents))] }
  }
  if (tool !== 'task') return { ...call, subject }
  // A session's id may stand for several agents: any of them may be the one that is forbidden.
  const parts = agents.flatMap(({ name }) => (agentInId(name) === subject ? name : []))
  return { ...call, subject, also: namesOfAgent(subject, agent, agents), parts }
}

function namesOfAgent(subject: string, caller: Agent, agents: readonly Agent[]): string[] {
  const names = agents.filter((each) => agentNames(each).includes(subject)).flatMap(agentNames)
  return subject === caller.name ? [...names, 'self'] : names
}

/** An agent by its name, and in its collection. */
export function agentNames({ name, origin }: Agent): string[] {
  return origin?.by === 'user' && origin.collection !== undefined ? [name, `${origin.collection}:${name}`] : [name]
}

/** Refuses rules that are none; tells of those that cannot be meant. */
export function checkPolicy(policy: Policy, terms: RuleTerms, warn: (problem: string) => void): void {
  checkRules(policy)
  for (const { rule, why } of oddRules(policy, terms))
    warn(`troupe: the rule ${rule} does not do what it seems to: ${why}`)
}

/** The same for rules of agents' files. Tools that are not here are no mistake there. */
export function checkAgentRules(agents: readonly Agent[], terms: RuleTerms, warn: (problem: string) => void): void {
  for (const { name, permissions, origin } of agents) {
    // What stands in a file was looked at when the file was read.
    if (!permissions || (origin?.by === 'user' && origin.path !== undefined)) continue
    try {
      checkRules(permissions)
      const odd = oddRules(permissions, terms).filter(({ why }) => why !== 'no tool has this name')
      for (const { rule, why } of odd)
        warn(`troupe: in the file of ${name}, the rule ${rule} does not do what it seems to: ${why}`)
    } catch (thrown) {
      warn(`troupe: in the file of ${name}: ${(thrown as Error).message}`)
    }
  }
}
