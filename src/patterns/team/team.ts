import { entryMember } from '../../judgement/team/team-members.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { checkTeamInput, teamWarnings } from './check-team-input.ts'
import { compressConversation } from './compress-conversation.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import { afterWorkTarget, decideHandoff } from './decide-handoff.ts'
import { formTeam } from './form-team.ts'
import { runGroupTurn } from './group-turn.ts'
import { answerText } from './human-questions.ts'
import type { TeamEndReason, TeamOutput, TeamRunInput } from './input.ts'
import { teamInput, teamOutput } from './input.ts'
import { guardLoop } from './loop-guard.ts'
import type { TurnFailure, TurnResult } from './member-turn.ts'
import { recordTurn, runMemberTurn } from './member-turn.ts'
import { runPreflight } from './preflight.ts'
import { appendPriorMessages } from './sub-team-context.ts'
import { recordHandoff, recordHandoffTarget, recordMessages } from './team-history.ts'
import { createTeamPlan } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { createTeamState, startRound, updateRevisionCount } from './team-state.ts'
import type { SteeringResult } from './team-steering.ts'
import { applyFinalSteering, applySteering, checkSteerAction } from './team-steering.ts'
import { appendUserRemarks, handleUserMessages, overrideHandoff } from './user-messages.ts'

/**
 * A team that hands work from one to the other by rules that a person wrote. One round is one turn: people's wishes are
 * taken, the member works, its answer joins the conversation that all share, and the rules say who goes on.
 */
export const team = definePattern<TeamRunInput>({
  name: 'team',
  version: 1,
  description: 'A team of agents that hand work to each other by rules in plain language.',
  category: 'task_management',
  delegates: true,
  input: teamInput,
  output: teamOutput,
  check: checkTeamInput,
  subject: ({ team: { name } }) => name,
  checkSteer: (input, action) => checkSteerAction(input.team, action),
  async execute(context, input) {
    // A team within another one hears the request first, and then what came of it so far.
    const within = context.parentName !== undefined
    const missing = within ? [] : await runPreflight(context, input.team)
    const formed = await formTeam(context, input.team)
    const floor = createTeamState(context, createTeamPlan(input.team, context.roster, formed), input)
    if (!within) appendPriorMessages(floor)
    const fallback = { to: entryMember(input.team) ?? '', reason: 'no rule from user holds; the entry begins' }
    const first = await handleUserMessages(floor, { key: 'start', texts: [input.message], fallback })
    if ('error' in first) return failTeam(floor, first, { agent: '', where: '' })
    if (within) appendPriorMessages(floor)
    const warnings = within ? [] : [...teamWarnings(input), ...missing]
    context.emit('start', 'team:start', {
      ...{ team: input.team.name, agents: floor.plan.names.length, first: first.to },
      ...(formed.length > 0
        ? { filled_roles: formed.map(({ name, uses, by = [] }) => ({ name, uses, by })) }
        : undefined),
      ...(warnings.length > 0 ? { warnings } : undefined),
    })
    // Where no rule speaks of the user there was nothing to decide.
    if (floor.plan.rules(USER).length > 0) recordHandoff(floor, { key: 'start/handoff', from: USER, handover: first })
    return runRounds(floor, { from: USER, next: first.to })
  },
})

type NextStep = { from: string; next: string } | { end: PatternResult }

async function runRounds(floor: TeamState, first: { from: string; next: string }): Promise<PatternResult> {
  for (let { from, next } = first; ; ) {
    const key = `steer/${floor.round + 1}`
    const changed = await applySteering(floor, next, key)
    await appendUserRemarks(floor, key, changed.texts)
    if (changed.next !== null && changed.next !== next)
      next = overrideHandoff(floor, key, { from, over: next, to: changed.next })
    const course = await runRound(floor, next)
    if ('end' in course) return course.end
    ;({ from, next } = course)
  }
}

async function runRound(floor: TeamState, name: string): Promise<NextStep> {
  const { context } = floor
  startRound(floor, name)
  const key = `round/${floor.round}`
  context.emit(`${key}/turn`, 'team:turn', { round: floor.round, agent: name })
  await compressConversation(floor)
  const spoken = await runTurn(floor, name)
  const { failure } = spoken
  const where = `${name}, round ${floor.round}: `
  if (failure?.stop_reason === 'cancelled') return { end: failTeam(floor, failure, { agent: name, where }) }
  await recordResponse(floor, key, spoken)
  // Who has used up a limit of the run has nobody left who could take care of it.
  if (failure?.error.code === 'limit_reached') return { end: failTeam(floor, failure, { agent: name, where }) }
  const speaking = { from: name, key, spoken }
  const handover = await decideHandoff(floor, speaking, afterWorkTarget(floor, name))
  if ('error' in handover) {
    return { end: failTeam(floor, handover, { agent: name, where: handover === failure ? where : `after ${where}` }) }
  }
  const guarded = await guardLoop(floor, speaking, handover)
  recordHandoffTarget(floor, name, guarded)
  recordHandoff(floor, { key, from: name, handover: guarded, spoken })
  return followHandoff(floor, { name, spoken, stopped: guarded.to === null && guarded.by === 'person' }, guarded)
}

async function runTurn(floor: TeamState, name: string): Promise<TurnResult> {
  const { plan } = floor
  const member = plan.member(name)
  const leaves = plan.semanticConditions(name, floor.conditionValues)
  const key = `round/${floor.round}`
  if (member.kind === 'group') return runGroupTurn(floor, member.group, { key: `${key}/group`, leaves })
  const spoken = await runMemberTurn(floor, member, { key: `${key}/${member.kind}`, leaves })
  recordTurn(floor, name, spoken)
  return spoken
}

/** A turn that failed is tried again on resume, and then has been at another time. */
async function recordResponse(floor: TeamState, key: string, { lines: messages, failure }: TurnResult): Promise<void> {
  floor.latestEntries = await recordMessages(floor, { key, timeKey: failure ? `${key}/failed` : `${key}/at`, messages })
  const words = messages.map(({ text = '' }) => text).join('\n\n')
  if (!failure || words.trim() !== '') floor.response = words
}

async function followHandoff(
  floor: TeamState,
  { name, spoken, stopped }: { name: string; spoken: TurnResult; stopped: boolean },
  { to }: HandoffDecision,
): Promise<NextStep> {
  if (to === null) return endTeam(floor, name, stopped ? 'stopped' : 'terminated')
  if (to === USER) return returnToUser(floor, name, spoken)
  updateRevisionCount(floor, name, to)
  return { from: name, next: to }
}

/** The question is what was said last. Within a team, the team above is the one to return to. */
async function returnToUser(floor: TeamState, from: string, spoken: TurnResult): Promise<NextStep> {
  const { context, round: at } = floor
  if (context.parentName !== undefined) return { end: completeTeam(floor, from, 'returned') }
  // Whoever spoke while it worked has answered before being asked.
  const key = `reply/${at}/early`
  const early = await followSteering(floor, from, { key, over: USER, changed: await applySteering(floor, null, key) })
  if (early) return early
  const answer = await context.ask(`reply/${at}/gate`, {
    question: spoken.text.trim() === '' ? `${from} returns to you.` : spoken.text,
    detail: { kind: 'reply', agent: from, takes: ['say'], ends: 'an empty answer ends the conversation' },
  })
  const text = answerText(answer)
  return text === undefined ? endTeam(floor, from, 'ended_by_user') : handleUserReply(floor, from, [text])
}

/** What people asked for while the team was about to stop: somebody else goes on, or what they said is answered. */
async function followSteering(
  floor: TeamState,
  from: string,
  { key, over, changed: { next, texts } }: { key: string; over: string; changed: SteeringResult },
): Promise<NextStep | undefined> {
  if (next === null) return texts.length > 0 ? handleUserReply(floor, from, texts) : undefined
  await appendUserRemarks(floor, key, texts)
  return { from, next: overrideHandoff(floor, key, { from, over, to: next }) }
}

/** The user has spoken to the one that returned, unless a rule from the user says otherwise. */
async function handleUserReply(floor: TeamState, from: string, texts: readonly string[]): Promise<NextStep> {
  const key = `reply/${floor.round}`
  const fallback = { to: from, reason: `no rule from ${USER} holds; the answer goes to the one that returned` }
  const handover = await handleUserMessages(floor, { key, texts, fallback })
  if ('error' in handover) return { end: failTeam(floor, handover, { agent: from, where: '' }) }
  recordHandoff(floor, { key, from: USER, handover })
  return { from: USER, next: handover.to }
}

/** The team would end here; what people asked meanwhile is not lost. */
async function endTeam(floor: TeamState, from: string, reason: TeamEndReason): Promise<NextStep> {
  const key = `ending/${floor.round}`
  const changed = await applyFinalSteering(floor, key)
  const course = await followSteering(floor, from, { key, over: 'the end', changed })
  return course ?? { end: completeTeam(floor, from, reason) }
}

function completeTeam(floor: TeamState, agent: string, reason: TeamEndReason): PatternResult {
  floor.context.emit('complete', 'team:complete', { rounds: floor.round, agent, reason })
  return {
    success: true,
    output: toTeamOutput(floor, { agent, status: 'completed', reason }),
    stop_reason: 'completed',
  }
}

/** Everything that was done is in the output; whoever resumes the run tries the failed step again. */
function failTeam(
  floor: TeamState,
  { error, stop_reason }: TurnFailure,
  { agent, where }: { agent: string; where: string },
): PatternResult {
  const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
  const output = toTeamOutput(floor, { agent, status, reason: status })
  const detail = { ...error, message: `${where}${error.message}` }
  return { success: false, output, error: detail.message, stop_reason, detail }
}

function toTeamOutput(floor: TeamState, end: Pick<TeamOutput, 'agent' | 'status' | 'reason'>): TeamOutput {
  const { response, history, round: rounds, variables, artifacts, handoffs, totals } = floor
  return {
    response,
    ...end,
    ...{ rounds, history, variables, artifacts: [...new Set(artifacts)], handoffs, totals },
  }
}
