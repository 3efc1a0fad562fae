import { parseCondition } from '../condition/parse.ts'
import type { Names, Node } from '../condition/tree.ts'
import { leavesOf } from '../condition/tree.ts'
import type { Rule } from '../handoff.ts'
import type { Team } from './definition.ts'
import { castOf } from './parts.ts'
import type { Place, TeamProblem } from './problem.ts'
import { warning } from './problem.ts'
import { MISSING } from './shape.ts'
import { variableTypes } from './variables.ts'

/*
 * A team's handoffs as rules that can be decided.
 * 1. A rule's index is its place in `handoffs`; what a group's `then` says comes after all of them, with priority 0.
 * 2. A condition that does not parse is reported and gives no rule.
 */

export interface TeamRules {
  rules: Rule[]
  problems: TeamProblem[]
}

const ALWAYS: Node = { kind: 'constant', text: 'always', value: true }

/** The names that conditions of this team may use. */
export function namesOf(team: Team): Names {
  return { ...castOf(team), variables: [...variableTypes(team).keys()] }
}

export function rulesOf(team: Team): TeamRules {
  const names = namesOf(team)
  const problems: TeamProblem[] = []
  const rules = team.handoffs.flatMap((handoff, index): Rule[] => {
    const { from_agent: from, to_agent: to, condition: text, priority } = handoff
    const shared = { from, to, condition_text: text ?? 'always', priority, index }
    if (text === undefined) return [{ ...shared, condition: ALWAYS }]
    const parsed = parseCondition(text, names)
    if (parsed.ok) return [{ ...shared, condition: parsed.tree }]
    const place: Place = ['handoffs', index, 'condition']
    for (const { message, at, hint } of parsed.problems) {
      problems.push({ severity: 'error', message, place, at, ...(hint === undefined ? undefined : { hint }) })
    }
    return []
  })
  return { rules: [...rules, ...afterGroups(team)], problems: [...problems, ...clashes(rules)] }
}

function afterGroups(team: Team): Rule[] {
  return team.groups.flatMap(({ name, then }, order) =>
    then === undefined
      ? []
      : [
          {
            from: name,
            to: then,
            condition: ALWAYS,
            condition_text: 'always',
            priority: 0,
            index: team.handoffs.length + order,
          },
        ],
  )
}

export function isAlways({ condition }: Rule): boolean {
  return condition.kind === 'constant' && condition.value
}

/** Twice the same rule, or two rules that send the same case to two places at the same priority. */
function clashes(rules: readonly Rule[]): TeamProblem[] {
  const seen = new Map<string, Rule>()
  return rules.flatMap((rule) => {
    // What is refused itself wins over nothing.
    if (rule.from === MISSING || rule.to === MISSING || rule.from === rule.to) return []
    const when = isAlways(rule) ? 'always' : meaningOf(rule)
    const key = JSON.stringify([rule.from, rule.priority, when])
    const same = JSON.stringify([rule.from, rule.to, when])
    const twin = seen.get(same)
    const rival = seen.get(key)
    seen.set(same, twin ?? rule)
    seen.set(key, rival ?? rule)
    const place: Place = ['handoffs', rule.index]
    if (twin) return [warning(place, `says the same as handoff ${twin.index + 1}`, 'remove one of them')]
    if (!rival) return []
    const both = `both lead away from '${rule.from}' ${when === 'always' ? 'always' : 'on the same condition'}`
    const message = `conflicts with handoff ${rival.index + 1}: ${both} with priority ${rule.priority}; '${rival.to}' wins`
    return [warning([...place, 'to_agent'], message, 'give them different priorities or conditions')]
  })
}

/** Spelling and blanks do not make another condition. */
function meaningOf({ condition, condition_text: text }: Rule): string {
  const quoted = leavesOf(condition).some((leaf) => leaf.kind === 'compare')
  const plain = text.trim().replaceAll(/\s+/g, ' ')
  return quoted ? plain : plain.toLowerCase()
}
