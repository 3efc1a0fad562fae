import { USER } from '../../judgement/team/team-schema.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import { decideHandoff, handoffByPerson } from './decide-handoff.ts'
import type { TurnFailure } from './member-turn.ts'
import { emptyTurnResult } from './member-turn.ts'
import type { TeamMessage } from './prompts.ts'
import { recordHandoff, recordHandoffTarget, recordMessages } from './team-history.ts'
import type { TeamState } from './team-state.ts'
import { appendMessage, resetAfterUserMessage, resetLoopDetection } from './team-state.ts'

/** Words of the user, and who is to answer them unless a rule from `user` says otherwise. */
interface UserMessages {
  key: string
  texts: readonly string[]
  fallback: { to: string; reason: string }
}

/**
 * The user spoke: the request, a follow-up, what was said before the team asked or while it was about to end. It joins
 * conversation and history, what was counted before counts no more, and the rules from `user` say who answers.
 */
export async function handleUserMessages(
  floor: TeamState,
  { key, texts, fallback }: UserMessages,
): Promise<(HandoffDecision & { to: string }) | TurnFailure> {
  const messages = appendUserMessages(floor, texts)
  resetAfterUserMessage(floor)
  floor.latestEntries = await recordMessages(floor, { key, timeKey: `${key}/at`, messages })
  const spoken = { ...emptyTurnResult(), text: texts.join('\n'), lines: messages }
  const handover = await decideHandoff(floor, { from: USER, key, spoken }, fallback)
  if ('error' in handover) return handover
  const to = handover.to ?? fallback.to
  recordHandoffTarget(floor, USER, { ...handover, to })
  return { ...handover, to }
}

/** What the user says to a team at work: the next one reads it, and whose turn it is stays as it was. */
export async function appendUserRemarks(floor: TeamState, key: string, texts: readonly string[]): Promise<void> {
  if (texts.length === 0) return
  resetLoopDetection(floor)
  await recordMessages(floor, { key, timeKey: `${key}/at`, messages: appendUserMessages(floor, texts) })
}

function appendUserMessages(floor: TeamState, texts: readonly string[]): TeamMessage[] {
  const at = floor.round > 0 ? { round: floor.round } : undefined
  const lines = texts.map((text) => ({ from: USER, ...at, text }))
  for (const line of lines) appendMessage(floor, line)
  return lines
}

/** A person sends the work elsewhere than it would have gone. */
export function overrideHandoff(
  floor: TeamState,
  key: string,
  { from, over, to }: { from: string; over: string; to: string },
): string {
  const handover = handoffByPerson(to, `a person chose ${to} over ${over}`)
  recordHandoffTarget(floor, from, handover)
  recordHandoff(floor, { key: `${key}/handoff`, from, handover })
  return to
}
