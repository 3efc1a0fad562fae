import type { ErrorRecord } from '../../errors.ts'
import { TroupeError, toTroupeError } from '../../errors.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import type { StopReason } from '../../kernel/event.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { askHuman } from './human-questions.ts'
import type { TeamOutput } from './input.ts'
import type { TeamMessage } from './prompts.ts'
import { toSubTeamContext } from './sub-team-context.ts'
import type { TeamMember } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage, recordTurnEnd, recordTurnStart, setVariable } from './team-state.ts'
import { parseTurnOutput, turnOutputSchema } from './turn-output.ts'

/** What came of one turn, before anyone decides who goes on. */
export interface TurnResult {
  text: string
  /** As the conversation has it: one line for each who spoke. */
  lines: readonly TeamMessage[]
  verdicts: ReadonlyMap<string, ConditionVerdict>
  variables: ReadonlyMap<string, VariableValue>
  artifacts: readonly string[]
  /** Who the speaker thinks should go on. */
  suggestedNext: unknown
  problems: readonly string[]
  failure?: TurnFailure
  /** Nobody said it in these words: they were made of what several said. */
  synthesized?: true
}

export interface TurnFailure {
  stop_reason: StopReason
  error: ErrorRecord
}

type SingleMember = Exclude<TeamMember, { kind: 'group' }>

/** The turn of one who is no group; `leaves` are the sentences it is asked to judge. */
export async function runMemberTurn(
  floor: TeamState,
  member: SingleMember,
  at: { key: string; leaves: readonly string[] },
): Promise<TurnResult> {
  recordTurnStart(floor, member.name)
  if (member.kind === 'agent') return runAgentTurn(floor, member, at)
  if (member.kind === 'human') return runHumanTurn(floor, member, at.key)
  return runSubTeamTurn(floor, member, at.key)
}

/** Lets the floor take note of what one said: the conversation, its variables, its artifacts. */
export function recordTurn(floor: TeamState, name: string, spoken: TurnResult): void {
  for (const [variable, value] of spoken.variables) setVariable(floor, variable, value)
  floor.artifacts.push(...spoken.artifacts)
  for (const line of spoken.lines) appendMessage(floor, line)
  recordTurnEnd(floor, name, spoken.failure !== undefined)
}

async function runAgentTurn(
  floor: TeamState,
  { name, agent, profile }: Extract<TeamMember, { kind: 'agent' }>,
  { key, leaves: conditions }: { key: string; leaves: readonly string[] },
): Promise<TurnResult> {
  const { context, plan, thread } = floor
  const asks = conditions.length > 0 || Object.keys(profile.outputs).length > 0
  const request = {
    thread,
    instruction: plan.turnPrompt(profile, conditions),
    ...(asks ? { output: turnOutputSchema, allowText: true as const } : undefined),
  }
  const result = await context.perform(agent, request, { key })
  floor.totals.tokens += result.usage.input + result.usage.output
  // What one model counted is no bound for another.
  if (result.usage.calls === 1 && plan.sharesOneModel) thread.setTokenCount(result.usage.input)
  const { text, verdicts, variables, suggestedNext, problems } = parseTurnOutput(result.text, result.object, {
    conditions,
    outputs: profile.outputs,
  })
  const artifacts = writtenArtifacts(floor, key)
  const failure = result.status === 'completed' ? emptyAnswerFailure(name, result) : failureFrom(result)
  const line = toTeamMessage(floor, { from: name, text, artifacts, ...partialStopReason(result) }, failure)
  // What a turn that failed says beside its words was not meant as its last word.
  if (failure) return { ...emptyTurnResult(), text, lines: [line], artifacts, failure }
  const cut = line.stop_reason === undefined ? [] : [`its answer was cut short: ${line.stop_reason}`]
  return { text, lines: [line], verdicts, variables, artifacts, suggestedNext, problems: [...problems, ...cut] }
}

/** Why a session that has an answer ended, where that was not the end of its work. */
function partialStopReason({ status, stop_reason }: SessionResult): Pick<TeamMessage, 'stop_reason'> {
  return status === 'completed' && stop_reason !== 'completed' ? { stop_reason } : {}
}

/** One who was cut off before it said anything has not done its work, whatever others would make of an empty answer. */
function emptyAnswerFailure(
  name: string,
  { empty_response_key: step, stop_reason }: SessionResult,
): TurnFailure | undefined {
  if (step === undefined) return undefined
  const error = new TroupeError('model_invalid_response', `${name} said nothing: it ended with ${stop_reason}`, {
    hint: 'resume asks it for its last word again; more turns are max_turns of the agent and limits.turns of the run',
    step,
  })
  return { stop_reason, error: error.toJSON() }
}

async function runHumanTurn(
  floor: TeamState,
  { name, role }: Extract<TeamMember, { kind: 'human' }>,
  key: string,
): Promise<TurnResult> {
  const { context, conversation } = floor
  const last = conversation.at(-1)
  const text = await askHuman(context, key, {
    question: last?.text ?? last?.error ?? floor.input.message,
    detail: { kind: 'person', as: name, ...(role === undefined ? undefined : { role }), from: last?.from ?? 'user' },
  })
  return { ...emptyTurnResult(), text, lines: [{ from: name, person: true, round: floor.round, text }] }
}

async function runSubTeamTurn(
  floor: TeamState,
  member: Extract<TeamMember, { kind: 'team' }>,
  key: string,
): Promise<TurnResult> {
  const { context, input, plan, variables } = floor
  const { team, name, outputs, acceptedVariables } = member
  const given = Object.entries(variables).filter(
    ([variable, value]) =>
      acceptedVariables.has(variable) && (acceptedVariables.get(variable) ?? typeof value) === typeof value,
  )
  const inner = { team, message: input.message, variables: Object.fromEntries(given), before: toSubTeamContext(floor) }
  try {
    const output = (await context.run('team', inner, { key, parentName: plan.team.name })) as TeamOutput
    floor.totals.tokens += output.totals.tokens
    floor.totals.router_calls += output.totals.router_calls
    const set = Object.entries(outputs).flatMap(([variable, type]): [string, VariableValue][] => {
      const value = output.variables[variable]
      return typeof value === type && value !== undefined ? [[variable, value]] : []
    })
    const artifacts = writtenArtifacts(floor, key)
    const line = toTeamMessage(floor, { from: name, text: output.response, artifacts })
    return { ...emptyTurnResult(), text: output.response, lines: [line], variables: new Map(set), artifacts }
  } catch (thrown) {
    const spoken = toFailedTurn(floor, name, { key, thrown })
    await addSpentTokens(floor, key)
    return spoken
  }
}

/** Who failed has no output that says what it took: the run's own books do. */
export async function addSpentTokens({ context, totals }: TeamState, key: string): Promise<void> {
  const { input, output } = await context.readSpend(`${key}/spent`, { under: key })
  totals.tokens += input + output
}

/** A failure under a key as the failure of the member that stands there. */
export function toFailedTurn(
  floor: TeamState,
  name: string,
  { key, thrown }: { key: string; thrown: unknown },
): TurnResult {
  const error = toTroupeError(thrown)
  if (isFatal(error) || error.code === 'cancelled') throw error
  const stop_reason = error.code === 'limit_reached' ? 'budget' : 'failed'
  const failure = { stop_reason, error: error.toJSON() } as const
  const artifacts = writtenArtifacts(floor, key)
  return { ...emptyTurnResult(), lines: [toTeamMessage(floor, { from: name, artifacts }, failure)], artifacts, failure }
}

export function emptyTurnResult(): TurnResult {
  return {
    text: '',
    lines: [],
    verdicts: new Map(),
    variables: new Map(),
    artifacts: [],
    suggestedNext: undefined,
    problems: [],
  }
}

export function writtenArtifacts({ context }: TeamState, key: string): string[] {
  return context.artifactsUnder(key).map(({ name, version }) => `${name}@${version}`)
}

export function toTeamMessage({ round }: TeamState, line: TeamMessage, failure?: TurnFailure): TeamMessage {
  const { from, text, artifacts, stop_reason } = line
  return {
    from,
    round,
    ...(text === undefined ? undefined : { text }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
    ...(failure ? { error: failure.error.message } : undefined),
    ...(artifacts ? { artifacts } : undefined),
  }
}

export function failureFrom({ stop_reason, error }: SessionResult): TurnFailure {
  return { stop_reason, error: error ?? new TroupeError('internal', `the session ended: ${stop_reason}`).toJSON() }
}
