import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { SessionEnd, StopReason } from '../../kernel/event.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import { withChanges } from '../../kernel/session-result.ts'
import { isExampleResponse } from './member-prompt.ts'
import type { TeamMessage } from './team-message.ts'
import { parseTurnOutput } from './turn-output.ts'

/* The message of a turn, from the end of its session: the same while a team runs and when its conversation is rebuilt from the journal. */

export interface TurnFailure {
  stop_reason: StopReason
  error: ErrorRecord
  /** Further errors, besides `error`. */
  failures?: readonly ErrorRecord[]
  /** The members of a group that failed, while others answered. */
  members?: readonly string[]
}

type EndedSession = Pick<SessionEnd, 'status' | 'stop_reason' | 'error' | 'empty_response_key' | 'worktree'>

interface AgentAnswer {
  agent: string
  session: EndedSession
  /** The answer without the fields of its object. */
  answer: string
  wantsObject: boolean
  artifacts: readonly string[]
}

/** The message of an agent's turn, and why the turn failed if it did. */
export function toAgentMessage(
  state: { round: number },
  { agent, session, answer, wantsObject, artifacts }: AgentAnswer,
): { text: string; message: TeamMessage; failure: TurnFailure | undefined } {
  const copied = wantsObject && isExampleResponse(answer) ? copiedExampleFailure(agent) : undefined
  const text = copied ? '' : withChanges(answer, session)
  const failure =
    session.status === 'completed' ? (copied ?? emptyAnswerFailure(agent, session)) : failureFrom({ ...session, agent })
  const message = toTeamMessage(state, { from: agent, text, artifacts, ...partialStopReason(session) }, failure)
  return { text, message, failure }
}

/** The text that the end of an agent's session tells. */
export function spokenText(session: Pick<SessionResult, 'text' | 'object' | 'worktree'>): string {
  return withChanges(parseTurnOutput(session.text, session.object, { conditions: [], outputs: {} }).text, session)
}

/** The `stop_reason` of a session that has an answer but did not finish its work. */
function partialStopReason({ status, stop_reason }: EndedSession): Pick<TeamMessage, 'stop_reason'> {
  return status === 'completed' && stop_reason !== 'completed' ? { stop_reason } : {}
}

/** Treats an empty answer as a failure: the rules would otherwise take it for completed work. */
function emptyAnswerFailure(
  name: string,
  { empty_response_key: step, stop_reason }: EndedSession,
): TurnFailure | undefined {
  if (step === undefined) return undefined
  const error = new TroupeError('model_invalid_response', `${name} gave an empty answer (stop_reason ${stop_reason})`, {
    hint: 'resume to request the final answer again; for more turns raise `max_turns` of the agent or `limits.turns`',
    step,
  })
  return { stop_reason, error: error.toJSON() }
}

/** Treats the copied example of the prompt as a failure, like an empty answer: it would pass for the work of the member. */
function copiedExampleFailure(name: string): TurnFailure {
  const error = new TroupeError(
    'model_invalid_response',
    `${name} copied the example of its prompt instead of an answer`,
    { hint: 'choose another `model` for this member, or a handoff without a condition in words' },
  )
  return { stop_reason: 'failed', error: error.toJSON() }
}

export function toTeamMessage(
  { round }: { round: number },
  message: TeamMessage,
  failure?: { error: Pick<ErrorRecord, 'message'> },
): TeamMessage {
  const { from, text, artifacts, stop_reason } = message
  return {
    from,
    round,
    ...(text === undefined ? undefined : { text }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
    ...(failure ? { error: failure.error.message } : undefined),
    ...(artifacts ? { artifacts } : undefined),
  }
}

export function failureFrom({
  agent,
  stop_reason,
  error,
}: Pick<SessionResult, 'agent' | 'stop_reason' | 'error'>): TurnFailure {
  const message = `the session of ${agent} ended with stop_reason ${stop_reason}`
  const fallback = () => new TroupeError('internal', message, { hint: 'resume the run to repeat it' }).toJSON()
  return { stop_reason, error: error ?? fallback() }
}
