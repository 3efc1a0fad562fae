import { nearestNames } from '../../errors.ts'
import type { ConditionVerdict, HandoffRule, RoutingResult } from '../../judgement/team/handoff-routing.ts'
import { handlesFailure, routeHandoff } from '../../judgement/team/handoff-routing.ts'
import { synchronisationReason } from '../../judgement/team/synchronisation.ts'
import { PREVIOUS_AGENT, USER } from '../../judgement/team/team-schema.ts'
import type { HandoffSource, HandoffTrace } from './events.ts'
import { askUntilValid, parseHumanChoice } from './human-questions.ts'
import type { TurnResult } from './member-turn.ts'
import { judgeConditions } from './router.ts'
import type { RouterRequest } from './router-prompt.ts'
import type { TeamMessage } from './team-message.ts'
import type { TeamState } from './team-state.ts'
import { resolvePreviousAgent, updateSystemVariables } from './team-state.ts'
import type { TurnFailure } from './turn-message.ts'

/** The target of a handoff: a member, the user, or `null` to end the team. */
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
  /** Leaves open conditions unresolved instead of asking the router. */
  skipRouter: boolean
}

/** The turn of a member, or a message of the user. */
export interface CompletedTurn {
  from: string
  key: string
  result: TurnResult
}

/** The target when no rule holds. */
export interface FallbackTarget {
  to: string | null
  reason: string
}

/** Applies the handoff rules to a completed turn. A failed turn that no rule handles is a failure of the team. */
export async function decideHandoff(
  state: TeamState,
  { from, key, result }: CompletedTurn,
  fallback: FallbackTarget,
): Promise<HandoffDecision | TurnFailure> {
  const { plan } = state
  const failed = result.failure !== undefined
  updateSystemVariables(state, from, failed)
  const allRules = plan.rules(from).filter((rule) => !failed || handlesFailure(rule, result.failure?.members))
  const verdicts = new Map(result.verdicts)
  const problems = [...result.problems, ...suggestionProblems(state, result.suggestedNext)]
  const excluded = new Set<number>()
  for (;;) {
    const rules = excluded.size === 0 ? allRules : allRules.filter(({ index }) => !excluded.has(index))
    const attemptKey = excluded.size === 0 ? key : `${key}/again/${excluded.size}`
    const { messages } = result
    const evaluated = await evaluateRules(state, {
      from,
      key: attemptKey,
      rules,
      messages,
      verdicts,
      skipRouter: failed,
    })
    if ('failure' in evaluated) return evaluated.failure
    problems.push(...evaluated.problems)
    const { decision } = evaluated.routing
    if (!decision) return result.failure ?? fallbackHandoff(evaluated.routing, fallback, problems)
    const to = decision.to === PREVIOUS_AGENT ? resolvePreviousAgent(state, from) : decision.to
    const { rule } = decision
    if (to === undefined) {
      problems.push(`rule ${rule + 1}: ${PREVIOUS_AGENT} is unknown, no agent had a turn before ${from}`)
      excluded.add(rule)
      continue
    }
    const handoff = { ...toExplanation(evaluated.routing, decision, to), reason: decision.reason, problems }
    if (!plan.team.handoffs[rule]?.approve) return { to, by: decision.by, ...handoff }
    const approval = await askApproval(state, { from, to, reason: handoff.reason, key: attemptKey })
    if (approval === 'no') excluded.add(rule)
    else if (approval === 'yes') return { to, by: decision.by, ...handoff }
    else return { to: approval, by: 'person', ...handoff, reason: `a person chose ${approval} over ${to}` }
  }
}

/** The target when no rule holds: who asked a person, an agent that has to work first, or `after_work_behavior`. */
export function afterWorkTarget(state: TeamState, from: string, text: string): FallbackTarget {
  const { plan, turns } = state
  const asker = text.trim() === '' ? undefined : findAsker(state, from)
  if (asker !== undefined) return { to: asker, reason: `${from} has no rule and answers ${asker}, who asked` }
  const unstarted = plan.synchronisedAgents(from).find((name) => !turns.counts.has(name))
  if (unstarted !== undefined) return { to: unstarted, reason: synchronisationReason(from, unstarted) }
  const behaviour = plan.team.after_work_behavior
  const to = { return_to_user: USER, terminate: null, continue: from }[behaviour]
  return { to, reason: `no rule holds; after_work_behavior is ${behaviour}` }
}

/** The member that handed off to a person without rules of its own, since the user's message. */
function findAsker({ plan, turns }: TeamState, name: string): string | undefined {
  if (plan.member(name).kind !== 'human' || plan.team.handoffs.some(({ from_agent }) => from_agent === name))
    return undefined
  return turns.recent.findLast((other) => other !== name && turns.counts.has(other))
}

/** A handoff that a person chose, without any rule. */
export function handoffByPerson(to: string | null, reason: string): HandoffDecision {
  return { to, by: 'person', reason, explanation: { decision: { to, by: 'person' }, rules: [] }, problems: [] }
}

/** Evaluates exact conditions and known verdicts first; asks the router only if open conditions can change the decision. */
async function evaluateRules(
  state: TeamState,
  { from, key, rules, messages, verdicts, skipRouter }: RuleContext,
): Promise<RuleResult | { failure: TurnFailure }> {
  const known = { variables: state.conditionValues, verdict: (condition: string) => verdicts.get(condition) }
  const routing = routeHandoff(rules, skipRouter ? { ...known, final: true } : known)
  if (routing.open.length === 0) return { routing, problems: [] }
  const request = { from, messages, conditions: routing.open, ...routerContext(state, messages) }
  const judged = await judgeConditions(state, key, request)
  if (!judged.ok) return judged
  for (const [condition, verdict] of judged.verdicts) verdicts.set(condition, verdict)
  return { routing: routeHandoff(rules, { ...known, final: true }), problems: judged.problems }
}

function routerContext(
  { conversation, variables }: TeamState,
  messages: readonly TeamMessage[],
): Pick<RouterRequest, 'userMessages' | 'attachments' | 'variables'> {
  const ofUser = conversation.messages.filter(({ from }) => from === USER)
  const earlier = ofUser.filter((message) => !messages.includes(message))
  const attachments = ofUser.flatMap((message) => message.attachments ?? [])
  return { userMessages: earlier.map(({ text = '' }) => text), attachments, variables }
}

function fallbackHandoff(routing: RoutingResult, { to, reason }: FallbackTarget, problems: string[]): HandoffDecision {
  return { to, by: 'after_work', ...toExplanation(routing, { by: 'after_work' }, to), reason, problems }
}

/** The decision in the format of `troupe team explain --json`. */
function toExplanation(
  routing: RoutingResult,
  { by }: { by: HandoffTrace['decision']['by'] },
  to: string | null,
): { explanation: HandoffTrace } {
  const rules = routing.rules.map(({ from, to: target, priority, holds, parts }) => ({
    from,
    to: target,
    priority,
    holds,
    parts,
  }))
  return { explanation: { decision: { to, by }, rules } }
}

function suggestionProblems({ plan }: TeamState, next: unknown): string[] {
  if (next === undefined || next === null || next === '') return []
  if (typeof next === 'string' && (plan.names.includes(next) || next === USER)) return []
  const known = typeof next === 'string' ? nearestNames(next, plan.names).slice(0, 5) : plan.names.slice(0, 5)
  return [`\`next\` names ${JSON.stringify(next)}, which is not in the team; known: ${known.join(', ')}`]
}

async function askApproval(
  { context, plan }: TeamState,
  { from, to, reason, key }: { from: string; to: string; reason: string; key: string },
): Promise<string> {
  const choice = await askUntilValid(context, `${key}/approve`, {
    question: {
      question: `${from} wants to hand off to ${to}: ${reason}. Answer yes, no, or the name of another member.`,
      detail: { kind: 'approve', from, to, takes: ['override'], answers: ['yes', 'no', ...plan.names] },
    },
    parse: (answer) => parseHumanChoice(answer, plan.names),
  })
  if (choice.do === 'override') return choice.agent
  return choice.do === 'stop' ? 'no' : 'yes'
}
