import { nearest } from '../../errors.ts'
import { leavesOf, variablesOf } from '../condition/tree.ts'
import type { Rule } from '../handoff.ts'
import type { Course } from './course.ts'
import { courseOf, reached, rings, sourcesOf } from './course.ts'
import type { Team } from './definition.ts'
import { ANY_AGENT } from './definition.ts'
import { neverHolds } from './never.ts'
import { castOf } from './parts.ts'
import type { Place, TeamProblem } from './problem.ts'
import { error, warning } from './problem.ts'
import { isAlways } from './rules.ts'
import { constantsOf, systemTypes, variableTypes } from './variables.ts'

/*
 * What a team whose parts fit together can never do: agents nobody reaches, conditions that cannot hold, variables nobody
 * sets, rules that never get their turn, and work that cannot end.
 */
export function courseProblems(team: Team, rules: readonly Rule[], given: readonly string[] = []): TeamProblem[] {
  const never = neverProblems(team, rules, given)
  const shadowed = shadows(rules)
  const dead = new Set([...never, ...shadowed].map(({ rule }) => rule))
  const alive = rules.filter((rule) => !dead.has(rule))
  const course = courseOf(team, alive)
  return [
    ...never.map(({ problem }) => problem),
    ...unsetVariables(team, rules, given),
    ...shadowed.map(({ problem }) => problem),
    ...unreachable(team, course),
    ...endless(team, course, alive),
  ]
}

type Finding = { rule: Rule; problem: TeamProblem }

function neverProblems(team: Team, rules: readonly Rule[], given: readonly string[]): Finding[] {
  const system = systemTypes(team)
  const types = new Map([...variableTypes(team), ...system])
  const counts = new Set([...system].flatMap(([name, type]) => (type === 'number' ? [name] : [])))
  const constants = new Map([...constantsOf(team)].filter(([name]) => !given.includes(name)))
  const certain = { types, constants, counts }
  return rules.flatMap((rule) => {
    const never = neverHolds(rule.condition, certain)
    if (!never) return []
    const at = placeIn(rule, never.leaf.text)
    return [{ rule, problem: { ...warning(conditionPlace(rule), `can never hold: ${never.reason}`), ...at } }]
  })
}

function unsetVariables(team: Team, rules: readonly Rule[], given: readonly string[]): TeamProblem[] {
  const known = [...new Set([...variableTypes(team).keys(), ...systemTypes(team).keys(), ...given])]
  const set = new Set(known)
  return rules.flatMap((rule) => {
    return usedVariables(rule)
      .filter((name) => !set.has(name))
      .map((name) => {
        const near = nearest(name, known).slice(0, 8).join(', ')
        const hint = `set it in context_variables, or name it in the outputs of an agent; known: ${near}`
        const problem = warning(conditionPlace(rule), `nobody sets '${name}', so this stays unknown`, hint)
        return { ...problem, ...(templateIn(rule, name) ?? placeIn(rule, name)) }
      })
  })
}

/** The variables that a rule's condition speaks of. */
export function usedVariables({ condition }: Rule): string[] {
  return [...new Set(leavesOf(condition).flatMap(variablesOf))]
}

function conditionPlace({ index }: Rule): Place {
  return ['handoffs', index, 'condition']
}

function placeIn({ condition_text: text }: Rule, part: string): { at?: number } {
  const escaped = part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const at = text.search(new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, 'u'))
  return at < 0 ? {} : { at }
}

/** In a sentence the variable's name may stand as an ordinary word as well. */
function templateIn({ condition_text: text }: Rule, name: string): { at: number } | undefined {
  const found = [...text.matchAll(/\{\{\s*([^{}]*?)\s*\}\}/g)].find((match) => match[1] === name)
  return found && { at: found.index + found[0].indexOf(name) }
}

/** Rules behind one that always holds: it comes first and takes every case. */
function shadows(rules: readonly Rule[]): Finding[] {
  const always = rules.filter(isAlways)
  return rules.flatMap((rule) => {
    const above = always.find((other) => other !== rule && isBefore(other, rule) && covers(other, rule))
    // Two that always hold at one priority are reported as a conflict already.
    if (!above || (isAlways(rule) && above.from === rule.from && above.priority === rule.priority)) return []
    const message = `is never reached: ${handoff(above)} to '${above.to}' always holds and comes first`
    const problem = warning(
      ['handoffs', rule.index],
      message,
      'give it a higher priority, or the other one a condition',
    )
    return [{ rule, problem }]
  })
}

function handoff({ index }: Rule): string {
  return `handoff ${index + 1}`
}

function isBefore(a: Rule, b: Rule): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.index < b.index)
}

/** Whether `above` applies wherever `rule` does. */
function covers(above: Rule, rule: Rule): boolean {
  if (above.from === rule.from && rule.from !== ANY_AGENT) return true
  if (above.from !== ANY_AGENT || rule.from === 'user') return false
  return rule.from === ANY_AGENT ? above.to === rule.to : rule.from !== above.to
}

function unreachable(team: Team, { next, starts }: Course): TeamProblem[] {
  const seen = reached(starts, next)
  const places = new Map<string, Place>([
    ...team.agents.map(({ name }, index): [string, Place] => [name, ['agents', index, 'name']]),
    ...(team.form?.roles ?? []).map(({ name }, index): [string, Place] => [name, ['form', 'roles', index, 'name']]),
    ...team.groups.map(({ name }, index): [string, Place] => [name, ['groups', index, 'name']]),
  ])
  return [...places].flatMap(([name, place]) =>
    seen.has(name) ? [] : [warning(place, `nobody ever hands to '${name}'`, `add a handoff with to_agent: ${name}`)],
  )
}

/** Work that goes round and can neither end nor leave. */
function endless(team: Team, course: Course, rules: readonly Rule[]): TeamProblem[] {
  const { agents, groups } = castOf(team)
  const everyone = [...agents, ...groups]
  const first = (ring: ReadonlySet<string>) => everyone.findIndex((name) => ring.has(name))
  const inOrder = rings(course).toSorted((a, b) => first(a) - first(b))
  return inOrder.map((ring) => {
    const name = everyone[first(ring)] ?? ''
    const inside = rules.find((rule) => ring.has(rule.to) && sourcesOf(rule, everyone).some((from) => ring.has(from)))
    if (!inside) {
      const message = `'${name}' never ends: after its work it is always asked to go on`
      return error(['after_work_behavior'], message, `add a handoff from ${name} to user`)
    }
    const path = [...roundTrip(name, ring, course.next), name].join(' → ')
    const hint = 'add a handoff to user, or a condition that can fail'
    return error(['handoffs', inside.index], `${path} never ends: no way leads out of it`, hint)
  })
}

/** One way through a ring, from a name back to it. */
function roundTrip(name: string, ring: ReadonlySet<string>, next: Course['next']): string[] {
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
