import { TroupeError } from '../errors.ts'
import { checkRules, oddRules } from '../judgement/odd-rules.ts'
import { parseRule } from '../judgement/rule.ts'
import type { Draft } from './agent-draft.ts'
import { warn } from './agent-draft.ts'

/**
 * Refuses the agent for a rule that nobody can read: in a run every call would fail, or what was to be forbidden would not
 * be. Rules that cannot match what they seem to are told of.
 */
export function checkWritten(draft: Draft, line: number, rules: readonly string[]): void {
  try {
    checkRules({ deny: rules })
  } catch (thrown) {
    const { message, hint } = thrown as TroupeError
    throw new TroupeError('invalid_agent_file', `agent '${draft.agent.name}': ${message}`, { hint: hint ?? '' })
  }
  // Which tools and servers there are is known only where the agent works.
  const tools = rules.map((rule) => parseRule(rule).tool)
  for (const { rule, why } of oddRules({ deny: rules }, { tools }))
    warn(draft, line, `the rule '${rule}' does not do what it seems to: ${why}`)
}
