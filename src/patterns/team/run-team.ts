import { entryMember } from '../../judgement/team/team-members.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { teamWarnings } from './check-team-input.ts'
import { compressConversation } from './compress-conversation.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import { afterWorkTarget, decideHandoff } from './decide-handoff.ts'
import type { HandoffSource, TeamContext } from './events.ts'
import { formTeam } from './form-team.ts'
import { runGroupTurn } from './group-turn.ts'
import type { PersonMessage } from './human-questions.ts'
import { askForMessage, toPersonMessage } from './human-questions.ts'
import type { TeamEndReason, TeamOutput, TeamRunInput } from './input.ts'
import { guardLoop } from './loop-guard.ts'
import type { TurnResult } from './member-turn.ts'
import { recordTurn, runMemberTurn } from './member-turn.ts'
import { runPreflight } from './preflight.ts'
import { appendPriorMessages } from './sub-team-context.ts'
import { recordHandoff, recordHandoffTarget, recordMessages } from './team-history.ts'
import { createTeamPlan } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { createTeamState, startRound, updateRevisionCount } from './team-state.ts'
import type { SteeringResult } from './team-steering.ts'
import { applyFinalSteering, applySteering } from './team-steering.ts'
import type { TurnFailure } from './turn-message.ts'
import { handleUserMessages, overrideHandoff, recordUserMessages } from './user-messages.ts'

/** One round is one turn: steering is applied, the member works, its answer joins the shared conversation, and the rules decide the next member. */
export async function runTeam(context: TeamContext, input: TeamRunInput): Promise<PatternResult> {
  const isSubTeam = context.parentName !== undefined
  const missingTools = isSubTeam ? [] : await runPreflight(context, input.team)
  const { roles: filledRoles, problem } = await formTeam(context, input.team)
  const plan = createTeamPlan(input, context.roster, filledRoles)
  const state = createTeamState(context, plan, input)
  context.setPartialOutput((stop_reason, { input: inputTokens, output: outputTokens }) => {
    const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
    const partial = toTeamOutput(state, { agent: state.turns.current, status, reason: status })
    // The totals of interrupted sessions and sub-runs are only in the ledger.
    return { ...partial, totals: { ...partial.totals, tokens: inputTokens + outputTokens } }
  })
  // For a sub-team `before` is the progress on the request, for a top team an earlier conversation.
  if (!isSubTeam) appendPriorMessages(state)
  const fallback = { to: entryMember(input.team) ?? '', reason: 'no rule from user holds; the entry agent starts' }
  const first = await handleUserMessages(state, { key: 'start', said: [requestMessage(input)], fallback })
  if ('error' in first) return failTeam(state, first, { agent: '', where: '' })
  if (isSubTeam) appendPriorMessages(state)
  const warnings = [
    ...(isSubTeam ? [] : teamWarnings(input)),
    ...missingTools,
    ...(problem === undefined ? [] : [problem]),
  ]
  const filled_roles = filledRoles.map(({ role: _role, expertise: _expertise, ...filled }) => filled)
  context.emit('start', 'team:start', {
    ...{ team: input.team.name, agents: state.plan.names.length, first: first.to },
    ...(filled_roles.length > 0 ? { filled_roles } : undefined),
    ...(warnings.length > 0 ? { warnings } : undefined),
  })
  // Without rules from `user` there was no decision to record.
  if (state.plan.rules(USER).length > 0) recordHandoff(state, { key: 'start/handoff', from: USER, handoff: first })
  return runRounds(state, { from: USER, next: first.to })
}

function requestMessage({ message: text, attachments }: TeamRunInput): PersonMessage {
  return toPersonMessage({ text, attachments })
}

type NextStep = { from: string; next: string } | { end: PatternResult }

async function runRounds(state: TeamState, first: { from: string; next: string }): Promise<PatternResult> {
  for (let { from, next } = first; ; ) {
    const key = `steer/${state.round + 1}`
    const steering = await applySteering(state, next, key)
    await recordUserMessages(state, key, steering.said)
    if (steering.next !== null && steering.next !== next)
      next = overrideHandoff(state, key, { from, over: next, to: steering.next })
    const step = await runRound(state, next)
    if ('end' in step) return step.end
    ;({ from, next } = step)
  }
}

async function runRound(state: TeamState, name: string): Promise<NextStep> {
  startRound(state, name)
  const key = `round/${state.round}`
  state.context.emit(`${key}/turn`, 'team:turn', { round: state.round, agent: name })
  await compressConversation(state)
  const result = await runTurn(state, name)
  const { failure } = result
  const where = `${name}, round ${state.round}: `
  keepResponse(state, result)
  if (failure?.stop_reason === 'cancelled') return { end: failTeam(state, failure, { agent: name, where }) }
  await recordResponse(state, key, result)
  // At a limit of the run no error handler could work either.
  if (failure?.error.code === 'limit_reached') return { end: failTeam(state, failure, { agent: name, where }) }
  const turn = { from: name, key, result }
  const decided = await decideHandoff(state, turn, afterWorkTarget(state, name, result.text))
  if ('error' in decided) {
    return { end: failTeam(state, decided, { agent: name, where: decided === failure ? where : `after ${where}` }) }
  }
  const handoff = await guardLoop(state, turn, decided)
  recordHandoffTarget(state, name, handoff)
  recordHandoff(state, { key, from: name, handoff, result })
  return followHandoff(state, { name, result, handoff })
}

async function runTurn(state: TeamState, name: string): Promise<TurnResult> {
  const { plan, round } = state
  const member = plan.member(name)
  const conditions = plan.semanticConditions(name, state.conditionValues)
  if (member.kind === 'group') return runGroupTurn(state, member.group, { key: `round/${round}/group`, conditions })
  const key = `round/${round}/${member.kind}`
  const result = await runMemberTurn(state, member, { key, conditions })
  recordTurn(state, { name, key }, result)
  return result
}

async function recordResponse(state: TeamState, key: string, { messages, failure }: TurnResult): Promise<void> {
  const { record } = state
  const timeKey = failure ? `${key}/failed` : `${key}/at`
  record.latestEntries = await recordMessages(state, { key, timeKey, messages })
}

/** Before anything that a cancellation can stop: the text of an interrupted turn is kept, too. */
function keepResponse({ record }: TeamState, { messages, failure }: TurnResult): void {
  const response = messages.flatMap(({ text = '' }) => (text === '' ? [] : text)).join('\n\n')
  if (!failure || response.trim() !== '') record.response = response
}

async function followHandoff(
  state: TeamState,
  { name, result, handoff: { to, by } }: { name: string; result: TurnResult; handoff: HandoffDecision },
): Promise<NextStep> {
  if (to === null) return endTeam(state, name, by === 'person' ? 'stopped' : 'terminated')
  if (to === USER && returnsToCaller(state, by)) return endTeam(state, name, 'returned')
  if (to === USER) return returnToUser(state, name, result)
  updateRevisionCount(state, name, to)
  return { from: name, next: to }
}

/**
 * A sub-team returns to its parent team. A team that an agent called returns to that agent when its work is done; what a rule hands
 * to the user is a question for a person.
 */
function returnsToCaller({ context: { parentName, caller } }: TeamState, by: HandoffSource): boolean {
  return parentName !== undefined || (caller !== undefined && by === 'after_work')
}

/** Asks the user for a reply, with the last answer as the question. */
async function returnToUser(state: TeamState, from: string, result: TurnResult): Promise<NextStep> {
  const { context, round } = state
  // A message sent during the turn is already the reply.
  const key = `reply/${round}/early`
  const steering = await applySteering(state, null, key)
  const early = await followSteering(state, from, { key, over: USER, steering })
  if (early) return early
  const reply = await askForMessage(context, `reply/${round}/gate`, {
    question: result.text.trim() === '' ? `${from} returns to you.` : result.text,
    detail: { kind: 'reply', agent: from, takes: ['say'], ends: 'an empty answer ends the conversation' },
  })
  return reply === undefined ? endTeam(state, from, 'ended_by_user') : handleUserReply(state, from, [reply])
}

/** Applies steering where the team would stop: another member continues, or a user message is answered. */
async function followSteering(
  state: TeamState,
  from: string,
  { key, over, steering: { next, said } }: { key: string; over: string; steering: SteeringResult },
): Promise<NextStep | undefined> {
  if (next === null) return said.length > 0 ? handleUserReply(state, from, said) : undefined
  await recordUserMessages(state, key, said)
  return { from, next: overrideHandoff(state, key, { from, over, to: next }) }
}

/** The reply goes to the member that returned, unless a rule from `user` holds. */
async function handleUserReply(state: TeamState, from: string, said: readonly PersonMessage[]): Promise<NextStep> {
  const key = `reply/${state.round}`
  const fallback = { to: from, reason: `no rule from ${USER} holds; the reply goes to the member that returned` }
  const handoff = await handleUserMessages(state, { key, said, fallback })
  if ('error' in handoff) return { end: failTeam(state, handoff, { agent: from, where: '' }) }
  recordHandoff(state, { key, from: USER, handoff })
  return { from: USER, next: handoff.to }
}

/** Ends the team, unless pending steering commands continue it. */
async function endTeam(state: TeamState, from: string, reason: TeamEndReason): Promise<NextStep> {
  const key = `ending/${state.round}`
  const steering = await applyFinalSteering(state, key)
  const step = await followSteering(state, from, { key, over: 'the end', steering })
  return step ?? { end: completeTeam(state, from, reason) }
}

function completeTeam(state: TeamState, agent: string, reason: TeamEndReason): PatternResult {
  state.context.emit('complete', 'team:complete', { rounds: state.round, agent, reason })
  return {
    success: true,
    output: toTeamOutput(state, { agent, status: 'completed', reason }),
    stop_reason: 'completed',
  }
}

/** Fails with everything done so far in the output. Resume repeats the failed step. */
function failTeam(
  state: TeamState,
  { error, stop_reason, failures = [] }: TurnFailure,
  { agent, where }: { agent: string; where: string },
): PatternResult {
  const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
  const output = toTeamOutput(state, { agent, status, reason: status })
  const detail = { ...error, message: `${where}${error.message}` }
  const incomplete = failures.filter(({ step }) => step !== error.step)
  return { success: false, output, error: detail.message, stop_reason, detail, incomplete }
}

function toTeamOutput(state: TeamState, end: Pick<TeamOutput, 'agent' | 'status' | 'reason'>): TeamOutput {
  const { response, history, artifacts, handoffs, totals } = state.record
  return {
    response,
    ...end,
    ...{ rounds: state.round, history, variables: state.variables },
    ...{ artifacts: [...new Set(artifacts)], handoffs, totals },
  }
}
