import type { ConditionNames, ConditionNode } from '../condition/condition-tree.ts'
import { conditionLeaves } from '../condition/condition-tree.ts'
import { parseCondition } from '../condition/parse-condition.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { MISSING_NAME } from './parse-team.ts'
import { teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { variableTypes } from './team-variables.ts'

/*
 * Parses the handoffs of a team into rules.
 * 1. The index of a rule is its position in `handoffs`; the `then` of a group comes after all of them, with priority 0.
 * 2. A handoff with a malformed condition is reported and yields no rule.
 */

export interface TeamRules {
  rules: HandoffRule[]
  problems: TeamProblem[]
}

const ALWAYS_TRUE: ConditionNode = { kind: 'constant', text: 'always', value: true }

/** The names that conditions of this team may refer to. */
export function conditionNames(team: Team): ConditionNames {
  return { ...teamMembers(team), variables: [...variableTypes(team).keys()] }
}

export function parseHandoffRules(team: Team): TeamRules {
  const names = conditionNames(team)
  const problems: TeamProblem[] = []
  const rules = team.handoffs.flatMap((handoff, index): HandoffRule[] => {
    const { from_agent: from, to_agent: to, condition: text, priority } = handoff
    const shared = { from, to, condition_text: text ?? 'always', priority, index }
    if (text === undefined) return [{ ...shared, condition: ALWAYS_TRUE }]
    const parsed = parseCondition(text, names)
    if (parsed.ok) return [{ ...shared, condition: parsed.tree }]
    const field: FieldPath = ['handoffs', index, 'condition']
    for (const { message, offset, hint } of parsed.problems) {
      problems.push({ severity: 'error', message, field, offset, ...(hint === undefined ? undefined : { hint }) })
    }
    return []
  })
  return { rules: [...rules, ...groupRules(team)], problems: [...problems, ...conflictProblems(rules)] }
}

function groupRules(team: Team): HandoffRule[] {
  return team.groups.flatMap(({ name: from, then: to }, order) => {
    const index = team.handoffs.length + order
    return to === undefined ? [] : { from, to, condition: ALWAYS_TRUE, condition_text: 'always', priority: 0, index }
  })
}

export function isUnconditional({ condition }: HandoffRule): boolean {
  return condition.kind === 'constant' && condition.value
}

/** Reports duplicate rules, and rules with equal source, condition and priority but different targets. */
function conflictProblems(rules: readonly HandoffRule[]): TeamProblem[] {
  const seen = new Map<string, HandoffRule>()
  return rules.flatMap((rule) => {
    // Rules that are invalid themselves are reported elsewhere.
    if (rule.from === MISSING_NAME || rule.to === MISSING_NAME || rule.from === rule.to) return []
    const when = isUnconditional(rule) ? 'always' : conditionKey(rule)
    const key = JSON.stringify([rule.from, rule.priority, when])
    const duplicateKey = JSON.stringify([rule.from, rule.to, when])
    const duplicate = seen.get(duplicateKey)
    const conflict = seen.get(key)
    seen.set(duplicateKey, duplicate ?? rule)
    seen.set(key, conflict ?? rule)
    const field: FieldPath = ['handoffs', rule.index]
    if (duplicate) return [teamWarning(field, `is the same as handoff ${duplicate.index + 1}`, 'remove one of them')]
    if (!conflict) return []
    const both = `both hand off from '${rule.from}' ${when === 'always' ? 'always' : 'on the same condition'}`
    const message = `conflicts with handoff ${conflict.index + 1}: ${both} with priority ${rule.priority}; '${conflict.to}' wins`
    return [teamWarning([...field, 'to_agent'], message, 'give them different priorities or conditions')]
  })
}

/** Ignores blanks, and case unless the condition compares values. */
function conditionKey({ condition, condition_text: text }: HandoffRule): string {
  const isCaseSensitive = conditionLeaves(condition).some((leaf) => leaf.kind === 'compare')
  const plain = text.trim().replaceAll(/\s+/g, ' ')
  return isCaseSensitive ? plain : plain.toLowerCase()
}
