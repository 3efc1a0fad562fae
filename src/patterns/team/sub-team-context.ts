import type { Team } from '../../judgement/team/team-schema.ts'
import { USER } from '../../judgement/team/team-schema.ts'
import { dropOldestAttachments } from './carried-attachments.ts'
import type { TeamRunInput } from './input.ts'
import { MAX_PRIOR_MESSAGES } from './input.ts'
import type { TeamMessage } from './team-message.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage } from './team-state.ts'

/*
 * The context of a sub-team or consensus group. It works on the original request; later user messages are passed along and
 * never replace the request.
 */

/** The number of latest member messages that are passed along. */
const MAX_RECENT_MESSAGES = 6

/** A conversation and the request that it is about. */
export interface RequestConversation {
  conversation: { messages: readonly TeamMessage[] }
  input: Pick<TeamRunInput, 'message' | 'attachments'>
}

/** The latest member messages and all user messages except the request, in order. */
export function inheritedMessages(state: RequestConversation): TeamMessage[] {
  const { messages } = state.conversation
  const request = findRequestMessage(state)
  const recent = new Set(messages.filter(({ from }) => from !== USER).slice(-MAX_RECENT_MESSAGES))
  return messages
    .filter((message) => message !== request && (message.from === USER || recent.has(message)))
    .slice(-MAX_PRIOR_MESSAGES)
}

/** The message with the request of the run. */
export function findRequestMessage({ conversation, input }: RequestConversation): TeamMessage | undefined {
  return conversation.messages.findLast(
    ({ from, round, text }) => from === USER && round === undefined && text === input.message,
  )
}

/** The inherited messages with qualified author names, since members of the sub-team can have the same names. */
export function subTeamMessages(state: RequestConversation & { plan: { team: Pick<Team, 'name'> } }) {
  const { name: team } = state.plan.team
  const { attachments = [] } = state.input
  const before = dropOldestAttachments(inheritedMessages(state), attachments).map(
    ({ from, text, summary, error, artifacts = [], attachments: carried }) => ({
      from: from === USER || from.includes('/') ? from : `${team}/${from}`,
      text: text ?? summary ?? error ?? '',
      artifacts: [...artifacts],
      ...(carried ? { attachments: carried } : undefined),
    }),
  )
  return { before, ...(attachments.length > 0 ? { attachments } : undefined) }
}

/** Adds the messages of `before` in the input to the conversation. */
export function appendPriorMessages(state: TeamState): void {
  for (const message of priorMessages(state.input.before)) appendMessage(state, message)
}

type PriorMessage = Omit<TeamMessage, 'attachments'> & { attachments?: TeamMessage['attachments'] | undefined }

export function priorMessages(before: readonly PriorMessage[]): TeamMessage[] {
  return before.map(({ attachments, ...message }) => (attachments ? { ...message, attachments } : message))
}

/** The names of the members that lead to a sub-team, such as `legal/contracts`. Steering addresses it by this path. */
export function subTeamPath({ parentName }: TeamState['context'], member: string): string {
  return parentName === undefined ? member : `${parentName}/${member}`
}
