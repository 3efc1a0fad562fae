import { nearestNames } from '../../errors.ts'
import type { ConditionVerdict, HandoffRule, RoutingResult } from '../../judgement/team/handoff-routing.ts'
import { routeHandoff } from '../../judgement/team/handoff-routing.ts'
import { PREVIOUS_AGENT, USER } from '../../judgement/team/team-schema.ts'
import type { HandoffSource, HandoffTrace } from '../../kernel/team-event.ts'
import { askUntilValid, parseHumanChoice } from './human-questions.ts'
import type { TurnFailure, TurnResult } from './member-turn.ts'
import type { RouterRequest, TeamMessage } from './prompts.ts'
import { judgeConditions } from './router.ts'
import type { TeamState } from './team-state.ts'
import { resolvePreviousAgent, updateSystemVariables } from './team-state.ts'

/** Where the work goes: to a member, to the user, or nowhere. */
export interface HandoffDecision {
  to: string | null
  by: HandoffSource
  reason: string
  explanation: HandoffTrace
  problems: string[]
}

interface RuleResult {
  routing: RoutingResult
  problems: string[]
}

interface RuleContext {
  from: string
  key: string
  rules: readonly HandoffRule[]
  messages: readonly TeamMessage[]
  verdicts: Map<string, ConditionVerdict>
  /** Nobody is asked: what is open stays open. */
  skipRouter: boolean
}

/** Somebody has spoken: a member in its turn, or the user. */
export interface CompletedTurn {
  from: string
  key: string
  spoken: TurnResult
}

/** Where the work goes when no rule holds. */
export interface FallbackTarget {
  to: string | null
  reason: string
}

/** Decides who goes on after one has spoken. A failed turn that no rule takes up is the failure of the team. */
export async function decideHandoff(
  floor: TeamState,
  { from, key, spoken }: CompletedTurn,
  otherwise: FallbackTarget,
): Promise<HandoffDecision | TurnFailure> {
  const { plan } = floor
  const failed = spoken.failure !== undefined
  updateSystemVariables(floor, from, failed)
  const applying = plan.rules(from, failed)
  const verdicts = new Map(spoken.verdicts)
  const problems = [...spoken.problems, ...suggestionProblems(floor, spoken.suggestedNext)]
  const refused = new Set<number>()
  for (;;) {
    const rules = refused.size === 0 ? applying : applying.filter(({ index }) => !refused.has(index))
    const at = refused.size === 0 ? key : `${key}/again/${refused.size}`
    const decided = await evaluateRules(floor, {
      from,
      key: at,
      rules,
      messages: spoken.lines,
      verdicts,
      skipRouter: failed,
    })
    if ('failure' in decided) return decided.failure
    problems.push(...decided.problems)
    const { decision } = decided.routing
    if (!decision) return spoken.failure ?? fallbackHandoff(decided.routing, otherwise, problems)
    const to = decision.to === PREVIOUS_AGENT ? resolvePreviousAgent(floor, from) : decision.to
    const { rule } = decision
    if (to === undefined) {
      problems.push(`rule ${rule + 1} hands to ${PREVIOUS_AGENT}, and nobody spoke before ${from}`)
      refused.add(rule)
      continue
    }
    const handover = { ...toExplanation(decided.routing, decision, to), reason: decision.reason, problems }
    if (!plan.team.handoffs[rule]?.approve) return { to, by: decision.by, ...handover }
    const approved = await askApproval(floor, { from, to, reason: handover.reason, key: at })
    if (approved === 'no') refused.add(rule)
    else if (approved === 'yes') return { to, by: decision.by, ...handover }
    else return { to: approved, by: 'person', ...handover, reason: `a person chose ${approved} over ${to}` }
  }
}

/** What `after_work_behavior` says about the one who has worked. */
export function afterWorkTarget({ plan }: TeamState, from: string): FallbackTarget {
  const behaviour = plan.team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  return { to, reason: `no rule holds; after_work_behavior is ${behaviour}` }
}

/** What a person decided past the rules. */
export function handoffByPerson(to: string | null, reason: string): HandoffDecision {
  return { to, by: 'person', reason, explanation: { decision: { to, by: 'person' }, rules: [] }, problems: [] }
}

/** Exact values and verdicts first; a model is asked only when what is open can change the decision. */
async function evaluateRules(floor: TeamState, deciding: RuleContext): Promise<RuleResult | { failure: TurnFailure }> {
  const { from, key, rules, messages, verdicts, skipRouter } = deciding
  const state = { variables: floor.conditionValues, verdict: (leaf: string) => verdicts.get(leaf) }
  const first = routeHandoff(rules, skipRouter ? { ...state, final: true } : state)
  if (first.open.length === 0) return { routing: first, problems: [] }
  const judged = await judgeConditions(floor, key, {
    from,
    messages,
    conditions: first.open,
    ...routerContext(floor, messages),
  })
  if (!judged.ok) return judged
  for (const [leaf, verdict] of judged.verdicts) verdicts.set(leaf, verdict)
  return { routing: routeHandoff(rules, { ...state, final: true }), problems: judged.problems }
}

/** What a sentence may be about beside the last words: what the user asked before them, and the team's variables. */
function routerContext(
  { conversation, variables }: TeamState,
  said: readonly TeamMessage[],
): Pick<RouterRequest, 'userMessages' | 'variables'> {
  const asked = conversation.filter((line) => line.from === USER && !said.includes(line))
  return { userMessages: asked.map(({ text = '' }) => text), variables }
}

function fallbackHandoff(routing: RoutingResult, { to, reason }: FallbackTarget, problems: string[]): HandoffDecision {
  return { to, by: 'after_work', ...toExplanation(routing, { by: 'after_work' }, to), reason, problems }
}

/** The decision as `troupe team explain --json` shows it. */
function toExplanation(
  { rules }: RoutingResult,
  { by }: { by: HandoffTrace['decision']['by'] },
  to: string | null,
): { explanation: HandoffTrace } {
  const shown = rules.map(({ from, to: target, priority, holds, parts }) => ({
    from,
    to: target,
    priority,
    holds,
    parts,
  }))
  return { explanation: { decision: { to, by }, rules: shown } }
}

function suggestionProblems({ plan }: TeamState, next: unknown): string[] {
  if (next === undefined || next === null || next === '') return []
  if (typeof next === 'string' && (plan.names.includes(next) || next === USER)) return []
  const known = typeof next === 'string' ? nearestNames(next, plan.names).slice(0, 5) : plan.names.slice(0, 5)
  return [`it names ${JSON.stringify(next)} to go on, who is not in the team; known: ${known.join(', ')}`]
}

async function askApproval(
  { context, plan }: TeamState,
  { from, to, reason, key }: { from: string; to: string; reason: string; key: string },
): Promise<string> {
  const choice = await askUntilValid(context, `${key}/approve`, {
    question: {
      question: `${from} wants to hand over to ${to}: ${reason}. Answer yes, no, or who should go on instead.`,
      detail: { kind: 'approve', from, to, takes: ['override'], answers: ['yes', 'no', ...plan.names] },
    },
    read: (answer) => parseHumanChoice(answer, plan.names),
  })
  if (choice.do === 'override') return choice.agent
  return choice.do === 'stop' ? 'no' : 'yes'
}
