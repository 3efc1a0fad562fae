import { didYouMean, nearestNames } from '../../errors.ts'
import { askedVariables } from './asked-variables.ts'
import { conditionVariables } from './condition-variables.ts'
import type { FlowGraph } from './flow-graph.ts'
import { buildFlowGraph, findEndlessCycles, reachableFrom, ruleSources } from './flow-graph.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { isUnconditional } from './handoff-rules.ts'
import { memberNameFields, teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT } from './team-schema.ts'
import { constantVariables, systemVariableTypes, variableTypes } from './team-variables.ts'
import { findUnsatisfiable } from './unsatisfiable.ts'

/**
 * Static analysis of a valid team: unsatisfiable conditions, variables that are never set, shadowed rules, unreachable
 * members and cycles without an exit. `externalVariables` has variables that a caller sets.
 */
export function flowProblems(
  team: Team,
  rules: readonly HandoffRule[],
  externalVariables: readonly string[] = [],
): TeamProblem[] {
  const unsatisfiable = unsatisfiableConditions(team, rules, externalVariables)
  const shadowed = shadowedRules(rules)
  const dead = new Set([...unsatisfiable, ...shadowed].map(({ rule }) => rule))
  const usable = rules.filter((rule) => !dead.has(rule))
  const graph = buildFlowGraph(team, usable)
  return [
    ...unsatisfiable.map(({ problem }) => problem),
    ...unsetVariables(team, rules, externalVariables),
    ...shadowed.map(({ problem }) => problem),
    ...unreachableMembers(team, graph),
    ...endlessCycles(team, graph, usable),
  ]
}

type RuleFinding = { rule: HandoffRule; problem: TeamProblem }

function unsatisfiableConditions(
  team: Team,
  rules: readonly HandoffRule[],
  externalVariables: readonly string[],
): RuleFinding[] {
  const system = systemVariableTypes(team)
  const types = new Map([...variableTypes(team), ...system])
  const counts = new Set([...system].flatMap(([name, type]) => (type === 'number' ? [name] : [])))
  const constants = new Map([...constantVariables(team)].filter(([name]) => !externalVariables.includes(name)))
  const facts = { types, constants, counts }
  return rules.flatMap((rule) => {
    const unsatisfiable = findUnsatisfiable(rule.condition, facts)
    if (!unsatisfiable) return []
    const problem = teamWarning(conditionPath(rule), `can never be true: ${unsatisfiable.reason}`)
    return [{ rule, problem: { ...problem, ...findOffset(rule, unsatisfiable.leaf.text) } }]
  })
}

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
function shadowedRules(rules: readonly HandoffRule[]): RuleFinding[] {
  const unconditional = rules.filter(isUnconditional)
  return rules.flatMap((rule) => {
    const above = unconditional.find((other) => other !== rule && precedes(other, rule) && coversRule(other, rule))
    // Two unconditional rules of equal priority are already reported as a conflict.
    if (!above || (isUnconditional(rule) && above.from === rule.from && above.priority === rule.priority)) return []
    const message = `is never reached: handoff ${above.index + 1} to '${above.to}' always applies and comes first`
    const hint = 'give it a higher priority, or the other one a condition'
    return [{ rule, problem: teamWarning(['handoffs', rule.index], message, hint) }]
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
