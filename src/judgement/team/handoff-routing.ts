import type { ConditionNode, Truth, VariableValue } from '../condition/condition-tree.ts'
import { conditionLeaves, leafVariables } from '../condition/condition-tree.ts'
import type { ConditionContext, ConditionResult, PartResult } from '../condition/evaluate-condition.ts'
import { evaluateCondition } from '../condition/evaluate-condition.ts'

/** A handoff rule. `from` may be `any_agent` or `user`; `to` may be `previous_agent`, `user`, an agent or a group. */
export interface HandoffRule {
  from: string
  to: string
  condition: ConditionNode
  condition_text: string
  priority: number
  /** Position in the file; breaks ties. */
  index: number
}

export interface HandoffRuleResult extends Pick<HandoffRule, 'from' | 'to' | 'priority' | 'index'> {
  holds: Truth
  parts: PartResult[]
}

export type RoutingDecision = {
  to: string
  by: 'exact' | 'verdict' | 'model'
  /** The `index` of the chosen rule. */
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
  /** No further verdicts are available: undecided semantic conditions count as unknown. */
  final?: boolean
}

export interface RoutingResult {
  decision: RoutingDecision | null
  rules: HandoffRuleResult[]
  /** Semantic leaves that need a verdict before the decision is certain; empty when it is. */
  open: string[]
}

const ANY = 'any_agent'
const USER = 'user'

/**
 * Finds the rules that apply after a turn, in order of evaluation: highest priority first, ties in file order. After the
 * turn of a group the rules of its members apply, too.
 */
export function createRuleLookup(
  rules: readonly HandoffRule[],
  groups: readonly { name: string; members: readonly string[] }[] = [],
): (from: string) => readonly HandoffRule[] {
  const rulesBySource = Map.groupBy(rules, ({ from }) => from)
  const anyAgentRules = rulesBySource.get(ANY) ?? []
  return memoize((from) => {
    // An agent never hands off to itself, and `any_agent` never means the user.
    const general = from === USER || from === ANY ? [] : anyAgentRules.filter(({ to }) => to !== from)
    const members = groups.find(({ name }) => name === from)?.members ?? []
    const sources = from === ANY ? [] : [...new Set([from, ...members])]
    const own = sources.flatMap((source) => rulesBySource.get(source) ?? []).filter(({ to }) => to !== from)
    return [...own, ...general].sort((a, b) => b.priority - a.priority || a.index - b.index)
  })
}

function memoize(compute: (from: string) => readonly HandoffRule[]): (from: string) => readonly HandoffRule[] {
  const cache = new Map<string, readonly HandoffRule[]>()
  return (from) => {
    const rules = cache.get(from) ?? compute(from)
    cache.set(from, rules)
    return rules
  }
}

/** True for a rule that applies after a failed turn: it refers to `error_detected`, or to a failed member of a group. */
export function handlesFailure({ condition }: HandoffRule, members: readonly string[] = []): boolean {
  const variables = ['error_detected', ...members.map((member) => `${member}_complete`)]
  return conditionLeaves(condition).some((leaf) => leafVariables(leaf).some((name) => variables.includes(name)))
}

/**
 * Chooses the first rule that holds. An unknown rule above it is skipped, unless a verdict could still make it hold:
 * then there is no decision yet, and `open` lists the sentences to judge, for all such rules at once.
 */
export function routeHandoff(rules: readonly HandoffRule[], context: RoutingContext): RoutingResult {
  const evaluated = rules.map((rule) => ({
    rule,
    evaluation: evaluateCondition(rule.condition, toConditionContext(context)),
  }))
  const first = evaluated.findIndex(({ evaluation }) => evaluation.value === true)
  const above = first === -1 ? evaluated : evaluated.slice(0, first)
  const open = context.final ? [] : [...new Set(above.flatMap(({ evaluation }) => evaluation.neededForTrue))]
  const chosen = open.length === 0 ? evaluated[first] : undefined
  return {
    decision: chosen === undefined ? null : toDecision(chosen.rule, chosen.evaluation, context),
    rules: evaluated.map(({ rule: { from, to, priority, index }, evaluation: { value, parts } }) => {
      return { from, to, priority, index, holds: value, parts }
    }),
    open,
  }
}

const VERDICT_REASONS = {
  verdict: { true: 'the agent judged it true', false: 'the agent judged it false' },
  model: { true: 'a model judged it true', false: 'a model judged it false' },
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

function toDecision(rule: HandoffRule, { parts }: ConditionResult, context: RoutingContext): RoutingDecision {
  const reasons = parts.filter(({ value }) => value !== 'unknown').map(({ text, reason }) => `${text}: ${reason}`)
  const reason = `"${rule.condition_text}" holds (${reasons.join('; ')})`
  return { to: rule.to, by: decidedBy(rule, context), rule: rule.index, reason }
}

/**
 * The weakest source that makes the rule hold: exact parts alone, with verdicts of the agent, or with those of a model.
 */
function decidedBy({ condition }: HandoffRule, { variables, verdict }: RoutingContext): 'exact' | 'verdict' | 'model' {
  if (evaluateCondition(condition, { variables, verdict: () => undefined }).value === true) return 'exact'
  const agentVerdict = (leaf: string) => {
    const known = verdict(leaf)
    return known?.by === 'verdict' ? known.value : undefined
  }
  return evaluateCondition(condition, { variables, verdict: agentVerdict }).value === true ? 'verdict' : 'model'
}
