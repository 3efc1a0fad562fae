import { toTroupeError } from '../../errors.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import { stopReasonFrom } from '../../kernel/session/budget.ts'
import { askHuman } from './human-questions.ts'
import type { TeamOutput } from './input.ts'
import type { MemberProfile } from './member-prompt.ts'
import { createPartialOutputHolder, keepSubTeamOutput } from './partial-sub-run.ts'
import { subTeamMessages, subTeamPath } from './sub-team-context.ts'
import type { TeamMessage } from './team-message.ts'
import type { TeamMember } from './team-plan.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage, recordTurnEnd, recordTurnStart, setVariable } from './team-state.ts'
import type { TurnFailure } from './turn-message.ts'
import { spokenText, toAgentMessage, toTeamMessage } from './turn-message.ts'
import { parseTurnOutput, turnAnswer } from './turn-output.ts'

/** The result of one turn, before the handoff is decided. */
export interface TurnResult {
  text: string
  /** The messages for the conversation: one per member that spoke. */
  messages: readonly TeamMessage[]
  verdicts: ReadonlyMap<string, ConditionVerdict>
  variables: ReadonlyMap<string, VariableValue>
  artifacts: readonly string[]
  /** The member the agent suggests for the next turn, unchecked. */
  suggestedNext: unknown
  problems: readonly string[]
  failure?: TurnFailure
  /** Errors that no session has: of a sub-team or group that threw. */
  thrown?: readonly { member: string; error: string }[]
  /** Set when the end of the session, or the answer of the gate, tells the text of the message. */
  isTold?: boolean
  /** Set when the text was synthesized from the answers of several members. */
  synthesized?: true
}

export type FailedTurn = TurnResult & { failure: TurnFailure }

export type SingleMember = Exclude<TeamMember, { kind: 'group' }>

export interface TurnRequest {
  key: string
  /** The natural-language conditions the member is asked to judge. */
  conditions: readonly string[]
}

/** Runs the turn of an agent, a human or a sub-team. */
export async function runMemberTurn(state: TeamState, member: SingleMember, request: TurnRequest): Promise<TurnResult> {
  recordTurnStart(state, member.name)
  if (member.kind === 'agent') return runAgentTurn(state, member, request)
  if (member.kind === 'human') return runHumanTurn(state, member, request.key)
  return runSubTeamTurn(state, member, request.key)
}

/** Applies a turn to the state: conversation, variables and artifacts. */
export function recordTurn(state: TeamState, { name, key }: { name: string; key: string }, result: TurnResult): void {
  for (const [variable, value] of result.variables) setVariable(state, variable, value)
  state.record.artifacts.push(...result.artifacts)
  for (const message of result.messages) {
    emitMessage(state, message, { key, isTold: result.isTold === true })
    appendMessage(state, message)
  }
  recordTurnEnd(state, name, result.failure !== undefined)
}

/** Says who spoke. */
function emitMessage(
  { context, round, conversation }: TeamState,
  { from, text, artifacts, error, stop_reason, person }: TeamMessage,
  { key, isTold }: { key: string; isTold: boolean },
): void {
  if (!conversation.isEmitted) return
  context.emit(`${key}-message`, 'team:message', {
    ...{ round, from },
    ...(text === undefined || isTold ? undefined : { text }),
    ...(artifacts ? { artifacts: [...artifacts] } : undefined),
    ...(error === undefined ? undefined : { error }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
    ...(person ? { person } : undefined),
  })
}

async function runAgentTurn(
  state: TeamState,
  { name, agent, profile: ownProfile }: Extract<TeamMember, { kind: 'agent' }>,
  { key, conditions }: TurnRequest,
): Promise<TurnResult> {
  const { context, plan, record } = state
  const profile = withoutPersonVariables(state, ownProfile)
  const { thread } = state.conversation
  const wantsObject = conditions.length > 0 || Object.keys(profile.outputs).length > 0
  const session = await context.request({
    key,
    agent,
    prompt: plan.turnPrompt(profile, conditions),
    thread,
    ...(wantsObject
      ? { answer: turnAnswer(conditions.length, Object.keys(profile.outputs)), allowText: true }
      : undefined),
  })
  record.totals.tokens += session.tokens
  // Token counts of different models are not comparable.
  if (session.usage.calls === 1 && plan.sharesOneModel) thread.setTokenCount(session.usage.input)
  const turnOutput = parseTurnOutput(session.text, session.object, { conditions, outputs: profile.outputs })
  const { verdicts, variables, suggestedNext, problems } = turnOutput
  const artifacts = writtenArtifacts(state, key)
  const answer = { agent: name, session, answer: turnOutput.text, wantsObject, artifacts }
  const { text, message, failure } = toAgentMessage(state, answer)
  const isTold = text === spokenText(session)
  // Verdicts and variables of a failed turn may be incomplete: drop them.
  if (failure) return { ...emptyTurnResult(), text, messages: [message], isTold, artifacts, failure }
  const { stop_reason } = message
  const incomplete = stop_reason === undefined ? [] : [`the answer is incomplete: stop_reason ${stop_reason}`]
  const allProblems = [...problems, ...missingVariables(state, profile, variables), ...incomplete]
  return { text, messages: [message], isTold, verdicts, variables, artifacts, suggestedNext, problems: allProblems }
}

/** A variable that a person has set is no longer asked for: the answer must not replace it. */
function withoutPersonVariables({ personVariables }: TeamState, profile: MemberProfile): MemberProfile {
  const asked = profile.asked.filter((name) => !personVariables.has(name))
  if (asked.length === profile.asked.length) return profile
  const isKept = (name: string) => !profile.asked.includes(name) || asked.includes(name)
  const outputs = Object.fromEntries(Object.entries(profile.outputs).filter(([name]) => isKept(name)))
  return { ...profile, asked, outputs }
}

/** Reports variables in conditions that the agent was asked for and that still have no value. */
function missingVariables(
  { variables }: TeamState,
  { asked, outputs }: MemberProfile,
  answered: ReadonlyMap<string, VariableValue>,
): string[] {
  return asked
    .filter((name) => !answered.has(name) && !Object.hasOwn(variables, name))
    .map((name) => `the answer does not set '${name}' (${outputs[name]}): conditions with it stay unknown`)
}

async function runHumanTurn(
  state: TeamState,
  { name, role }: Extract<TeamMember, { kind: 'human' }>,
  key: string,
): Promise<TurnResult> {
  const { context, conversation, input, round } = state
  const last = conversation.messages.at(-1)
  const answer = await askHuman(context, key, {
    question: last?.text ?? last?.error ?? input.message,
    detail: { kind: 'person', as: name, ...(role === undefined ? undefined : { role }), from: last?.from ?? 'user' },
  })
  return {
    ...emptyTurnResult(),
    text: answer.text,
    messages: [{ from: name, person: true, round, ...answer }],
    isTold: true,
  }
}

type SubTeamMember = Extract<TeamMember, { kind: 'team' }>

async function runSubTeamTurn(state: TeamState, member: SubTeamMember, key: string): Promise<TurnResult> {
  const { context, input, record } = state
  const { team, name, outputs } = member
  const variables = inheritedVariables(state, member)
  const subTeamInput = { team, message: input.message, variables, ...subTeamMessages(state) }
  const partial = createPartialOutputHolder()
  try {
    const options = { key, parentName: subTeamPath(context, name), onPartialOutput: partial.set }
    const output = (await context.run('team', subTeamInput, options)) as TeamOutput
    record.totals.tokens += output.totals.tokens
    record.totals.router_calls += output.totals.router_calls
    const returned = Object.entries(outputs).flatMap(([variable, type]): [string, VariableValue][] => {
      const value = output.variables[variable]
      return typeof value === type && value !== undefined ? [[variable, value]] : []
    })
    const artifacts = writtenArtifacts(state, key)
    const message = toTeamMessage(state, { from: name, text: output.response, artifacts })
    return { ...emptyTurnResult(), text: output.response, messages: [message], variables: new Map(returned), artifacts }
  } catch (thrown) {
    keepSubTeamOutput(state, { name, key }, partial.read(thrown))
    return addSpentTokens(state, key, toFailedTurn(state, name, { key, thrown }))
  }
}

/** The variables that the sub-team accepts, if their types fit. */
function inheritedVariables({ variables }: TeamState, { acceptedVariables }: SubTeamMember) {
  const accepted = Object.entries(variables).filter(
    ([variable, value]) =>
      acceptedVariables.has(variable) && (acceptedVariables.get(variable) ?? typeof value) === typeof value,
  )
  return Object.fromEntries(accepted)
}

/** Adds the tokens a failed sub-run has used, from the ledger: it has no output with totals. */
export async function addSpentTokens(
  { context, record }: TeamState,
  key: string,
  failed: FailedTurn,
): Promise<FailedTurn> {
  const { input, output } = await context.readSpend(`${key}/failed/spent`, { under: key })
  record.totals.tokens += input + output
  return failed
}

/** The turn of a member whose sub-run threw. Fatal errors and cancellation are rethrown. */
export function toFailedTurn(
  state: TeamState,
  name: string,
  { key, thrown }: { key: string; thrown: unknown },
): FailedTurn {
  const error = toTroupeError(thrown)
  if (isFatal(error) || error.code === 'cancelled') throw error
  const stop_reason = stopReasonFrom(error)
  const failure = { stop_reason, error: error.toJSON(), failures: error.failures } as const
  const artifacts = writtenArtifacts(state, key)
  const message = toTeamMessage(state, { from: name, artifacts }, failure)
  const thrownErrors = [{ member: name, error: error.message }]
  return { ...emptyTurnResult(), messages: [message], artifacts, failure, thrown: thrownErrors }
}

export function emptyTurnResult(): TurnResult {
  return {
    text: '',
    messages: [],
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
