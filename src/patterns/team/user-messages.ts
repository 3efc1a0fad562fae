import { USER } from '../../judgement/team/team-schema.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import { decideHandoff, handoffByPerson } from './decide-handoff.ts'
import type { PersonMessage } from './human-questions.ts'
import { emptyTurnResult } from './member-turn.ts'
import { recordHandoff, recordHandoffTarget, recordMessages } from './team-history.ts'
import type { TeamMessage } from './team-message.ts'
import { toUserTeamMessage } from './team-message.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage, resetAfterUserMessage, resetLoopDetection } from './team-state.ts'
import type { TurnFailure } from './turn-message.ts'

interface UserMessages {
  key: string
  said: readonly PersonMessage[]
  /** The target when no rule from `user` holds. */
  fallback: { to: string; reason: string }
}

/**
 * Adds user messages (the request, a follow-up, or steering text before the end) to the conversation and the history, resets
 * the counters of the previous request, and decides by the rules from `user` which member answers.
 */
export async function handleUserMessages(
  state: TeamState,
  { key, said, fallback }: UserMessages,
): Promise<(HandoffDecision & { to: string }) | TurnFailure> {
  const messages = appendUserMessages(state, said)
  resetAfterUserMessage(state)
  const timeKey = key === 'start' && state.conversation.isEmitted ? 'start/asked/at' : `${key}/at`
  state.record.latestEntries = await recordMessages(state, { key, timeKey, messages })
  const result = { ...emptyTurnResult(), text: said.map(({ text }) => text).join('\n'), messages }
  const handoff = await decideHandoff(state, { from: USER, key, result }, fallback)
  if ('error' in handoff) return handoff
  const to = handoff.to ?? fallback.to
  recordHandoffTarget(state, USER, { ...handoff, to })
  return { ...handoff, to }
}

/** Adds user messages that arrive between two turns. The next member reads them; the turn order does not change. */
export async function recordUserMessages(state: TeamState, key: string, said: readonly PersonMessage[]): Promise<void> {
  if (said.length === 0) return
  resetLoopDetection(state)
  await recordMessages(state, { key, timeKey: `${key}/at`, messages: appendUserMessages(state, said) })
}

function appendUserMessages(state: TeamState, said: readonly PersonMessage[]): TeamMessage[] {
  const messages = said.map((message) => toUserTeamMessage(state.round, message))
  for (const message of messages) appendMessage(state, message)
  return messages
}

/** Records that a person sent the work to `to` instead of `over`, and returns `to`. */
export function overrideHandoff(
  state: TeamState,
  key: string,
  { from, over, to }: { from: string; over: string; to: string },
): string {
  const handoff = handoffByPerson(to, `a person chose ${to} over ${over}`)
  recordHandoffTarget(state, from, handoff)
  recordHandoff(state, { key: `${key}/handoff`, from, handoff })
  return to
}
