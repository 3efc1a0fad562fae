import { conditionLeaves } from '../condition/condition-tree.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { entryMember } from './team-members.ts'
import type { Team } from './team-schema.ts'

/*
 * Synchronisation points: several agents hand off to the same target on the same parts of a condition, such as
 * `a complete and b complete`, and no handoff leads to them. All of them have to work before the team stops.
 */

/** The agents that wait for the same parts of a condition as `from`, and to which nothing leads, in file order. */
export function synchronisedAgents(team: Team, rules: readonly HandoffRule[], from: string): string[] {
  const reached = new Set([team.supervisor, ...rules.map(({ to }) => to), ...team.groups.flatMap((it) => it.members)])
  if (reached.has(from)) return []
  const points = new Set(rules.flatMap((rule) => (rule.from === from ? synchronisationPoint(rule) : [])))
  const waiting = new Set(
    rules.filter((rule) => synchronisationPoint(rule).some((point) => points.has(point))).map((rule) => rule.from),
  )
  const isUnstarted = (name: string) => name !== from && name !== entryMember(team) && !reached.has(name)
  return team.agents.map(({ name }) => name).filter((name) => waiting.has(name) && isUnstarted(name))
}

/** The target and the parts of the condition. One part alone is no point where several agents meet. */
function synchronisationPoint({ condition, to }: HandoffRule): string[] {
  const parts = new Set(conditionLeaves(condition).map(({ text }) => text.toLowerCase()))
  return parts.size < 2 ? [] : [JSON.stringify([to, ...[...parts].sort()])]
}

export function synchronisationReason(from: string, to: string): string {
  return `no rule holds yet; ${to} waits for the same as ${from} and has not worked`
}
