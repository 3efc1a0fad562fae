import { nearestNames } from '../../errors.ts'
import { conditionLeaves, leafVariables } from '../condition/condition-tree.ts'
import type { FlowGraph } from './flow-graph.ts'
import { buildFlowGraph, findEndlessCycles, reachableFrom, ruleSources } from './flow-graph.ts'
import type { HandoffRule } from './handoff-routing.ts'
import { isUnconditional } from './handoff-rules.ts'
import { teamMembers } from './team-members.ts'
import type { FieldPath, TeamProblem } from './team-problem.ts'
import { teamError, teamWarning } from './team-problem.ts'
import type { Team } from './team-schema.ts'
import { ANY_AGENT } from './team-schema.ts'
import { constantVariables, systemVariableTypes, variableTypes } from './team-variables.ts'
import { findUnsatisfiable } from './unsatisfiable.ts'

/*
 * What a team whose parts fit together can never do: agents nobody reaches, conditions that cannot hold, variables nobody
 * sets, rules that never get their turn, and work that cannot end.
 */
export function flowProblems(team: Team, rules: readonly HandoffRule[], given: readonly string[] = []): TeamProblem[] {
  const never = unsatisfiableConditions(team, rules, given)
  const shadowed = shadowedRules(rules)
  const dead = new Set([...never, ...shadowed].map(({ rule }) => rule))
  const alive = rules.filter((rule) => !dead.has(rule))
  const course = buildFlowGraph(team, alive)
  return [
    ...never.map(({ problem }) => problem),
    ...unsetVariables(team, rules, given),
    ...shadowed.map(({ problem }) => problem),
    ...unreachableMembers(team, course),
    ...endlessCycles(team, course, alive),
  ]
}

type RuleFinding = { rule: HandoffRule; problem: TeamProblem }

function unsatisfiableConditions(team: Team, rules: readonly HandoffRule[], given: readonly string[]): RuleFinding[] {
  const system = systemVariableTypes(team)
  const types = new Map([...variableTypes(team), ...system])
  const counts = new Set([...system].flatMap(([name, type]) => (type === 'number' ? [name] : [])))
  const constants = new Map([...constantVariables(team)].filter(([name]) => !given.includes(name)))
  const certain = { types, constants, counts }
  return rules.flatMap((rule) => {
    const never = findUnsatisfiable(rule.condition, certain)
    if (!never) return []
    const at = findOffset(rule, never.leaf.text)
    return [{ rule, problem: { ...teamWarning(conditionPath(rule), `can never hold: ${never.reason}`), ...at } }]
  })
}

function unsetVariables(team: Team, rules: readonly HandoffRule[], given: readonly string[]): TeamProblem[] {
  const known = [...new Set([...variableTypes(team).keys(), ...systemVariableTypes(team).keys(), ...given])]
  const set = new Set(known)
  return rules.flatMap((rule) => {
    return conditionVariables(rule)
      .filter((name) => !set.has(name))
      .map((name) => {
        const near = nearestNames(name, known).slice(0, 8).join(', ')
        const hint = `set it in context_variables, or name it in the outputs of an agent; known: ${near}`
        const problem = teamWarning(conditionPath(rule), `nobody sets '${name}', so this stays unknown`, hint)
        return { ...problem, ...(findTemplateOffset(rule, name) ?? findOffset(rule, name)) }
      })
  })
}

/** The variables that a rule's condition speaks of. */
export function conditionVariables({ condition }: HandoffRule): string[] {
  return [...new Set(conditionLeaves(condition).flatMap(leafVariables))]
}

function conditionPath({ index }: HandoffRule): FieldPath {
  return ['handoffs', index, 'condition']
}

function findOffset({ condition_text: text }: HandoffRule, part: string): { offset?: number } {
  const escaped = part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const offset = text.search(new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u'))
  return offset < 0 ? {} : { offset }
}

/** In a sentence the variable's name may stand as an ordinary word as well. */
function findTemplateOffset({ condition_text: text }: HandoffRule, name: string): { offset: number } | undefined {
  const found = [...text.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)].find((match) => match[1] === name)
  return found && { offset: found.index + found[0].indexOf(name) }
}

/** Rules behind one that always holds: it comes first and takes every case. */
function shadowedRules(rules: readonly HandoffRule[]): RuleFinding[] {
  const always = rules.filter(isUnconditional)
  return rules.flatMap((rule) => {
    const above = always.find((other) => other !== rule && precedes(other, rule) && coversRule(other, rule))
    // Two that always hold at one priority are reported as a conflict already.
    if (!above || (isUnconditional(rule) && above.from === rule.from && above.priority === rule.priority)) return []
    const message = `is never reached: ${handoffLabel(above)} to '${above.to}' always holds and comes first`
    const problem = teamWarning(
      ['handoffs', rule.index],
      message,
      'give it a higher priority, or the other one a condition',
    )
    return [{ rule, problem }]
  })
}

function handoffLabel({ index }: HandoffRule): string {
  return `handoff ${index + 1}`
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
  const seen = reachableFrom(starts, next)
  const places = new Map<string, FieldPath>([
    ...team.agents.map(({ name }, index): [string, FieldPath] => [name, ['agents', index, 'name']]),
    ...(team.form?.roles ?? []).map(({ name }, index): [string, FieldPath] => [name, ['form', 'roles', index, 'name']]),
    ...team.groups.map(({ name }, index): [string, FieldPath] => [name, ['groups', index, 'name']]),
  ])
  return [...places].flatMap(([name, field]) =>
    seen.has(name)
      ? []
      : [teamWarning(field, `nobody ever hands to '${name}'`, `add a handoff with to_agent: ${name}`)],
  )
}

/** Work that goes round and can neither end nor leave. */
function endlessCycles(team: Team, course: FlowGraph, rules: readonly HandoffRule[]): TeamProblem[] {
  const { agents, groups } = teamMembers(team)
  const everyone = [...agents, ...groups]
  const first = (ring: ReadonlySet<string>) => everyone.findIndex((name) => ring.has(name))
  const inOrder = findEndlessCycles(course).toSorted((a, b) => first(a) - first(b))
  return inOrder.map((ring) => {
    const name = everyone[first(ring)] ?? ''
    const inside = rules.find((rule) => ring.has(rule.to) && ruleSources(rule, everyone).some((from) => ring.has(from)))
    if (!inside) {
      const message = `'${name}' never ends: after its work it is always asked to go on`
      return teamError(['after_work_behavior'], message, `add a handoff from ${name} to user`)
    }
    const path = [...cyclePath(name, ring, course.next), name].join(' → ')
    const hint = 'add a handoff to user, or a condition that can fail'
    return teamError(['handoffs', inside.index], `${path} never ends: no way leads out of it`, hint)
  })
}

/** One way through a ring, from a name back to it. */
function cyclePath(name: string, ring: ReadonlySet<string>, next: FlowGraph['next']): string[] {
  const path = [name]
  for (let at = name; ; ) {
    const onward: string | undefined = [...(next.get(at) ?? [])].find(
      (other) => ring.has(other) && !path.includes(other),
    )
    if (onward === undefined) return path
    path.push(onward)
    at = onward
  }
}
