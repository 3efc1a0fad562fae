import type { ConditionNode, Truth, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves, leafVariables } from '../condition/condition-tree.ts'
import type { ConditionContext, ConditionResult, PartResult } from '../condition/evaluate-condition.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'

/** A way to hand over. `from` may be `any_agent` or `user`; `to` may be `previous_agent`, `user`, an agent or a group. */
export interface HandoffRule {
  from: string
  to: string
  condition: ConditionNode
  condition_text: string
  priority: number
  /** Its place in the file, which settles ties. */
  index: number
}

export interface HandoffRuleResult {
  from: string
  to: string
  priority: number
  index: number
  holds: Truth
  parts: PartResult[]
}

export type RoutingDecision = {
  to: string
  by: 'exact' | 'verdict' | 'model'
  /** The `index` of the rule that was taken. */
  rule: number
  reason: string
}

export interface ConditionVerdict {
  value: boolean
  by: 'verdict' | 'model'
}

export interface RoutingContext {
  variables: Readonly<Record<string, VariableValue>>
  verdict(leaf: string): ConditionVerdict | undefined
  /** Nobody is left to be asked: what is still open counts as unknown. */
  final?: boolean
}

export interface RoutingResult {
  decision: RoutingDecision | null
  rules: HandoffRuleResult[]
  /** Semantic leaves that must be known before the decision is certain; empty when it is. */
  open: string[]
}

const ANY = 'any_agent'
const USER = 'user'

/**
 * The rules that apply after each one's turn, in the order in which they are tried: priority is global, ties go by file
 * order. After a turn that failed only those apply that speak of errors.
 */
export function createRuleLookup(
  rules: readonly HandoffRule[],
): (from: string, failed?: boolean) => readonly HandoffRule[] {
  const own = Map.groupBy(rules, ({ from }) => from)
  const general = own.get(ANY) ?? []
  const all = memoize((from) => {
    // Nobody hands over to itself, and `any_agent` is whoever works: never the person.
    const forAny = from === USER || from === ANY ? [] : general.filter(({ to }) => to !== from)
    const ofItsOwn = from === ANY ? [] : (own.get(from) ?? [])
    return [...ofItsOwn, ...forAny].sort((a, b) => b.priority - a.priority || a.index - b.index)
  })
  const ofErrors = memoize((from) => all(from).filter(mentionsErrors))
  return (from, failed = false) => (failed ? ofErrors(from) : all(from))
}

function memoize(make: (from: string) => readonly HandoffRule[]): (from: string) => readonly HandoffRule[] {
  const made = new Map<string, readonly HandoffRule[]>()
  return (from) => {
    const known = made.get(from) ?? make(from)
    made.set(from, known)
    return known
  }
}

function mentionsErrors({ condition }: HandoffRule): boolean {
  return conditionLeaves(condition).some((leaf) => leafVariables(leaf).includes('error_detected'))
}

/**
 * The first of these rules that holds. A rule above it whose value is unknown is skipped, unless an answer could still
 * make it hold: then nothing is decided and `open` says what has to be known, for all such rules at once.
 */
export function routeHandoff(rules: readonly HandoffRule[], state: RoutingContext): RoutingResult {
  const tried = rules.map((rule) => ({
    rule,
    evaluation: evaluateCondition(rule.condition, toConditionContext(state)),
  }))
  const first = tried.findIndex(({ evaluation }) => evaluation.value === true)
  const above = first === -1 ? tried : tried.slice(0, first)
  const open = state.final ? [] : [...new Set(above.flatMap(({ evaluation }) => evaluation.neededForTrue))]
  const winner = open.length === 0 ? tried[first] : undefined
  return {
    decision: winner === undefined ? null : toDecision(winner.rule, winner.evaluation, state),
    rules: tried.map(({ rule: { from, to, priority, index }, evaluation: { value, parts } }) => {
      return { from, to, priority, index, holds: value, parts }
    }),
    open,
  }
}

const VERDICT_REASONS = {
  verdict: { true: 'the agent said so', false: 'the agent said it is not so' },
  model: { true: 'a model judged it so', false: 'a model judged it not so' },
} as const

function toConditionContext({ variables, verdict }: RoutingContext): ConditionContext {
  return {
    variables,
    verdict: (leaf) => verdict(leaf)?.value,
    verdictReason: (leaf) => {
      const known = verdict(leaf)
      return known === undefined ? undefined : VERDICT_REASONS[known.by][`${known.value}`]
    },
  }
}

function toDecision(rule: HandoffRule, { parts }: ConditionResult, state: RoutingContext): RoutingDecision {
  const reasons = parts.filter(({ value }) => value !== 'unknown').map(({ text, reason }) => `${text}: ${reason}`)
  const reason = `"${rule.condition_text}" holds (${reasons.join('; ')})`
  return { to: rule.to, by: decidedBy(rule, state), rule: rule.index, reason }
}

/** The least that was needed to make the rule hold: code, the agent's own verdict, or a model's judgement. */
function decidedBy({ condition }: HandoffRule, { variables, verdict }: RoutingContext): 'exact' | 'verdict' | 'model' {
  if (evaluateCondition(condition, { variables, verdict: () => undefined }).value === true) return 'exact'
  const own = (leaf: string) => {
    const known = verdict(leaf)
    return known?.by === 'verdict' ? known.value : undefined
  }
  return evaluateCondition(condition, { variables, verdict: own }).value === true ? 'verdict' : 'model'
}
