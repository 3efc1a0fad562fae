import { didYouMean, nearestNames } from '../../errors.ts'
import { askedVariables } from './asked-variables.ts'
import { conditionVariables } from './condition-variables.ts'
import type { FlowGraph } from './flow-graph.ts'
import { buildFlowGraph, findEndlessCycles, reachableFrom, ruleSources } from './flow-graph.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { isUnconditional } from './handoff-rules.ts'
import { entryMember, memberNameFields, teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT, USER } from './team-schema.ts'
import { systemVariableTypes, variableTypes } from './team-variables.ts'

/**
 * Static analysis of a valid team: variables that are never set, shadowed rules, unreachable members and cycles
 * without an exit. `externalVariables` has variables that a caller sets.
 */
export function flowProblems(
  team: Team,
  rules: readonly HandoffRule[],
  externalVariables: readonly string[] = [],
): TeamProblem[] {
  const shadowed = shadowedRules(team, rules)
  const dead = new Set(shadowed.map(({ rule }) => rule))
  const usable = rules.filter((rule) => !dead.has(rule))
  const graph = buildFlowGraph(team, usable)
  return [
    ...unsetVariables(team, rules, externalVariables),
    ...shadowed.map(({ problem }) => problem),
    ...unreachableMembers(team, graph),
    ...untriedRules(team, rules, graph),
    ...endlessCycles(team, graph, usable),
  ]
}

type RuleFinding = { rule: HandoffRule; problem: TeamProblem }

/** Reports variables that nobody can set, values in `{{ }}` that an agent chooses for itself, and likely misspellings. */
function unsetVariables(
  team: Team,
  rules: readonly HandoffRule[],
  externalVariables: readonly string[],
): TeamProblem[] {
  const known = [...new Set([...variableTypes(team).keys(), ...systemVariableTypes(team).keys(), ...externalVariables])]
  const set = new Set(known)
  const asked = askedVariables(team, rules, externalVariables)
  return rules.flatMap((rule) =>
    conditionVariables(rule)
      .filter((name) => !set.has(name))
      .flatMap((name) => {
        const agents = [...asked].flatMap(([agent, variables]) => (Object.hasOwn(variables, name) ? [agent] : []))
        const finding = unsetVariable({ rule, name, agents, known })
        if (!finding) return []
        const problem = teamWarning(conditionPath(rule), finding.message, finding.hint)
        return [{ ...problem, ...(findTemplateOffset(rule, name) ?? findOffset(rule, name)) }]
      }),
  )
}

interface UnsetVariable {
  rule: HandoffRule
  name: string
  /** The agents that are asked for it. */
  agents: readonly string[]
  known: readonly string[]
}

function unsetVariable({ rule, name, agents, known }: UnsetVariable): { message: string; hint: string } | undefined {
  const near = `known: ${nearestNames(name, known).slice(0, 8).join(', ')}`
  if (agents.length === 0) {
    const hint = `set it in context_variables or in the outputs of an agent; ${near}`
    return { message: `the variable '${name}' is never set, so this stays unknown`, hint }
  }
  const who = agents.slice(0, 3).join(', ')
  const similar = didYouMean(name, known)
  if (similar !== '') return { message: `nobody sets '${name}', so ${who} is asked for it`, hint: `${similar} ${near}` }
  // A value in {{ }} usually limits the agent that would choose it.
  if (!findTemplateOffset(rule, name)) return undefined
  const message = `nobody sets '${name}', so ${who} chooses its value`
  return { message, hint: `set it in context_variables, or with --set ${name}=VALUE` }
}

function conditionPath({ index }: HandoffRule): FieldPath {
  return ['handoffs', index, 'condition']
}

function findOffset({ condition_text: text }: HandoffRule, part: string): { offset?: number } {
  const escaped = part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const offset = text.search(new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u'))
  return offset < 0 ? {} : { offset }
}

/** Prefers `{{ name }}`: in a sentence the name may also occur as an ordinary word. */
function findTemplateOffset({ condition_text: text }: HandoffRule, name: string): { offset: number } | undefined {
  const match = [...text.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)].find(([, variable]) => variable === name)
  return match && { offset: match.index + match[0].indexOf(name) }
}

/** Rules after an unconditional rule that covers every case. */
function shadowedRules(team: Team, rules: readonly HandoffRule[]): RuleFinding[] {
  const unconditional = rules.filter(isUnconditional)
  const groupsOf = groupLookup(team, rules)
  return rules.flatMap((rule) => {
    const above = unconditional.find(
      (other) =>
        other !== rule &&
        precedes(other, rule) &&
        (coversRule(other, rule) || coversInGroups(other, groupsOf(rule.from))),
    )
    // Two unconditional rules of equal priority are already reported as a conflict.
    if (!above || (isUnconditional(rule) && above.from === rule.from && above.priority === rule.priority)) return []
    const message = `is never reached: handoff ${above.index + 1} to '${above.to}' always applies and comes first`
    const hint = 'give it a higher priority, or the other one a condition'
    return [{ rule, problem: teamWarning(rulePath(team, rule), message, hint) }]
  })
}

/** The path of a rule: the `then` of a group comes after all handoffs. */
function rulePath({ handoffs }: Team, { index }: HandoffRule): FieldPath {
  return index < handoffs.length ? ['handoffs', index] : ['groups', index - handoffs.length, 'then']
}

/** The groups after whose turn the rules of a name are tried; none if it is an agent that also works alone. */
function groupLookup(team: Team, rules: readonly HandoffRule[]): (name: string) => Team['groups'] {
  const alone = new Set([entryMember(team), team.supervisor, ...rules.map(({ to }) => to)])
  return (name) =>
    team.groups.filter((group) => group.name === name || (group.members.includes(name) && !alone.has(name)))
}

/** Whether `above` applies after each of the groups: it belongs to the group or to one of its members. */
function coversInGroups(above: HandoffRule, groups: Team['groups']): boolean {
  return (
    groups.length > 0 &&
    groups.every(({ name, members }) => above.to !== name && (above.from === name || members.includes(above.from)))
  )
}

/** Rules whose sender never has a turn. */
function untriedRules(team: Team, rules: readonly HandoffRule[], { next, starts }: FlowGraph): TeamProblem[] {
  const { agents, groups } = teamMembers(team)
  const reachable = reachableFrom(starts, next)
  return rules.flatMap((rule) => {
    if (rule.from === USER) return []
    const sources = ruleSources(rule, [...agents, ...groups])
    if (sources.some((name) => reachable.has(name))) return []
    const reason = sources.length === 0 ? `there is no agent but '${rule.to}'` : `'${rule.from}' never has a turn`
    return [teamWarning(rulePath(team, rule), `is never tried: ${reason}`, 'add a handoff to its sender, or remove it')]
  })
}

function precedes(a: HandoffRule, b: HandoffRule): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.index < b.index)
}

/** Whether `above` applies wherever `rule` does. */
function coversRule(above: HandoffRule, rule: HandoffRule): boolean {
  if (above.from === rule.from && rule.from !== ANY_AGENT) return true
  if (above.from !== ANY_AGENT || rule.from === 'user') return false
  return rule.from === ANY_AGENT ? above.to === rule.to : rule.from !== above.to
}

function unreachableMembers(team: Team, { next, starts }: FlowGraph): TeamProblem[] {
  const reachable = reachableFrom(starts, next)
  return [...new Map(memberNameFields(team))].flatMap(([name, field]) =>
    reachable.has(name)
      ? []
      : [teamWarning(field, `no handoff leads to '${name}'`, `add a handoff with to_agent: ${name}`)],
  )
}

/** Cycles from which the work can neither end nor leave. */
function endlessCycles(team: Team, graph: FlowGraph, rules: readonly HandoffRule[]): TeamProblem[] {
  const { agents, groups } = teamMembers(team)
  const everyone = [...agents, ...groups]
  const firstIndex = (cycle: ReadonlySet<string>) => everyone.findIndex((name) => cycle.has(name))
  const inOrder = findEndlessCycles(graph).toSorted((a, b) => firstIndex(a) - firstIndex(b))
  return inOrder.map((cycle) => {
    const name = everyone[firstIndex(cycle)] ?? ''
    const inside = rules.find(
      (rule) => cycle.has(rule.to) && ruleSources(rule, everyone).some((source) => cycle.has(source)),
    )
    if (!inside) {
      const message = `'${name}' never ends: after_work_behavior continue always starts it again`
      return teamError(['after_work_behavior'], message, `add a handoff from ${name} to user`)
    }
    const path = [...cyclePath(name, cycle, graph.next), name].join(' → ')
    const hint = 'add a handoff to user, or a condition that can be false'
    return teamError(['handoffs', inside.index], `${path} never ends: the cycle has no exit`, hint)
  })
}

/** One path through a cycle, from a name back to it. */
function cyclePath(name: string, cycle: ReadonlySet<string>, next: FlowGraph['next']): string[] {
  const path = [name]
  for (let current = name; ; ) {
    const following: string | undefined = [...(next.get(current) ?? [])].find(
      (other) => cycle.has(other) && !path.includes(other),
    )
    if (following === undefined) return path
    path.push(following)
    current = following
  }
}
