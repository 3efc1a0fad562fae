import type { ConditionState, Evaluation, PartValue } from './condition/evaluate.ts'
import { evaluate } from './condition/evaluate.ts'
import type { Node, Truth, Value } from './condition/tree.ts'
import { leavesOf, variablesOf } from './condition/tree.ts'

/** A way to hand over. `from` may be `any_agent` or `user`; `to` may be `previous_agent`, `user`, an agent or a group. */
export interface Rule {
  from: string
  to: string
  condition: Node
  condition_text: string
  priority: number
  /** Its place in the file, which settles ties. */
  index: number
}

export interface RuleValue {
  from: string
  to: string
  priority: number
  index: number
  holds: Truth
  parts: PartValue[]
}

export type Decision = {
  to: string
  by: 'exact' | 'verdict' | 'model'
  /** The `index` of the rule that was taken. */
  rule: number
  reason: string
}

export interface Verdict {
  value: boolean
  by: 'verdict' | 'model'
}

export interface HandoffState {
  variables: Readonly<Record<string, Value>>
  verdict(leaf: string): Verdict | undefined
  /** Nobody is left to be asked: what is still open counts as unknown. */
  final?: boolean
}

export interface Routing {
  decision: Decision | null
  rules: RuleValue[]
  /** Semantic leaves that must be known before the decision is certain; empty when it is. */
  open: string[]
}

const ANY = 'any_agent'
const USER = 'user'

/**
 * The rules that apply after each one's turn, in the order in which they are tried: priority is global, ties go by file
 * order. After a turn that failed only those apply that speak of errors.
 */
export function rulesFrom(rules: readonly Rule[]): (from: string, failed?: boolean) => readonly Rule[] {
  const own = Map.groupBy(rules, ({ from }) => from)
  const general = own.get(ANY) ?? []
  const all = kept((from) => {
    // Nobody hands over to itself, and `any_agent` is whoever works: never the person.
    const forAny = from === USER || from === ANY ? [] : general.filter(({ to }) => to !== from)
    const ofItsOwn = from === ANY ? [] : (own.get(from) ?? [])
    return [...ofItsOwn, ...forAny].sort((a, b) => b.priority - a.priority || a.index - b.index)
  })
  const ofErrors = kept((from) => all(from).filter(speaksOfErrors))
  return (from, failed = false) => (failed ? ofErrors(from) : all(from))
}

function kept(make: (from: string) => readonly Rule[]): (from: string) => readonly Rule[] {
  const made = new Map<string, readonly Rule[]>()
  return (from) => {
    const known = made.get(from) ?? make(from)
    made.set(from, known)
    return known
  }
}

function speaksOfErrors({ condition }: Rule): boolean {
  return leavesOf(condition).some((leaf) => variablesOf(leaf).includes('error_detected'))
}

/**
 * The first of these rules that holds. A rule above it whose value is unknown is skipped, unless an answer could still
 * make it hold: then nothing is decided and `open` says what has to be known, for all such rules at once.
 */
export function decideAmong(rules: readonly Rule[], state: HandoffState): Routing {
  const tried = rules.map((rule) => ({ rule, evaluation: evaluate(rule.condition, asCondition(state)) }))
  const first = tried.findIndex(({ evaluation }) => evaluation.value === true)
  const above = first === -1 ? tried : tried.slice(0, first)
  const open = state.final ? [] : [...new Set(above.flatMap(({ evaluation }) => evaluation.hopes))]
  const winner = open.length === 0 ? tried[first] : undefined
  return {
    decision: winner === undefined ? null : taken(winner.rule, winner.evaluation, state),
    rules: tried.map(({ rule: { from, to, priority, index }, evaluation: { value, parts } }) => {
      return { from, to, priority, index, holds: value, parts }
    }),
    open,
  }
}

const SAID = {
  verdict: { true: 'the agent said so', false: 'the agent said it is not so' },
  model: { true: 'a model judged it so', false: 'a model judged it not so' },
} as const

function asCondition({ variables, verdict }: HandoffState): ConditionState {
  return {
    variables,
    verdict: (leaf) => verdict(leaf)?.value,
    because: (leaf) => {
      const known = verdict(leaf)
      return known === undefined ? undefined : SAID[known.by][`${known.value}`]
    },
  }
}

function taken(rule: Rule, { parts }: Evaluation, state: HandoffState): Decision {
  const reasons = parts.filter(({ value }) => value !== 'unknown').map(({ text, reason }) => `${text}: ${reason}`)
  const reason = `"${rule.condition_text}" holds (${reasons.join('; ')})`
  return { to: rule.to, by: settledBy(rule, state), rule: rule.index, reason }
}

/** The least that was needed to make the rule hold: code, the agent's own verdict, or a model's judgement. */
function settledBy({ condition }: Rule, { variables, verdict }: HandoffState): 'exact' | 'verdict' | 'model' {
  if (evaluate(condition, { variables, verdict: () => undefined }).value === true) return 'exact'
  const own = (leaf: string) => {
    const known = verdict(leaf)
    return known?.by === 'verdict' ? known.value : undefined
  }
  return evaluate(condition, { variables, verdict: own }).value === true ? 'verdict' : 'model'
}
