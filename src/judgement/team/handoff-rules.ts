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
 * A team's handoffs as rules that can be decided.
 * 1. A rule's index is its place in `handoffs`; what a group's `then` says comes after all of them, with priority 0.
 * 2. A condition that does not parse is reported and gives no rule.
 */

export interface TeamRules {
  rules: HandoffRule[]
  problems: TeamProblem[]
}

const ALWAYS_TRUE: ConditionNode = { kind: 'constant', text: 'always', value: true }

/** The names that conditions of this team may use. */
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
  return team.groups.flatMap(({ name, then }, order) =>
    then === undefined
      ? []
      : [
          {
            from: name,
            to: then,
            condition: ALWAYS_TRUE,
            condition_text: 'always',
            priority: 0,
            index: team.handoffs.length + order,
          },
        ],
  )
}

export function isUnconditional({ condition }: HandoffRule): boolean {
  return condition.kind === 'constant' && condition.value
}

/** Twice the same rule, or two rules that send the same case to two places at the same priority. */
function conflictProblems(rules: readonly HandoffRule[]): TeamProblem[] {
  const seen = new Map<string, HandoffRule>()
  return rules.flatMap((rule) => {
    // What is refused itself wins over nothing.
    if (rule.from === MISSING_NAME || rule.to === MISSING_NAME || rule.from === rule.to) return []
    const when = isUnconditional(rule) ? 'always' : conditionKey(rule)
    const key = JSON.stringify([rule.from, rule.priority, when])
    const same = JSON.stringify([rule.from, rule.to, when])
    const twin = seen.get(same)
    const rival = seen.get(key)
    seen.set(same, twin ?? rule)
    seen.set(key, rival ?? rule)
    const field: FieldPath = ['handoffs', rule.index]
    if (twin) return [teamWarning(field, `says the same as handoff ${twin.index + 1}`, 'remove one of them')]
    if (!rival) return []
    const both = `both lead away from '${rule.from}' ${when === 'always' ? 'always' : 'on the same condition'}`
    const message = `conflicts with handoff ${rival.index + 1}: ${both} with priority ${rule.priority}; '${rival.to}' wins`
    return [teamWarning([...field, 'to_agent'], message, 'give them different priorities or conditions')]
  })
}

/** Spelling and blanks do not make another condition. */
function conditionKey({ condition, condition_text: text }: HandoffRule): string {
  const quoted = conditionLeaves(condition).some((leaf) => leaf.kind === 'compare')
  const plain = text.trim().replaceAll(/\s+/g, ' ')
  return quoted ? plain : plain.toLowerCase()
}
