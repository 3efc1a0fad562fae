import { USER } from '../../judgement/team/team-schema.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import type { HistoryEntry } from './input.ts'
import type { TurnResult } from './member-turn.ts'
import type { TeamMessage } from './team-message.ts'
import type { TeamState } from './team-state.ts'

interface MessageRecord {
  key: string
  /** Step key of the timestamp. */
  timeKey: string
  messages: readonly TeamMessage[]
}

/** Adds messages to the history before the handoff is decided, so that a failure in between does not lose them. */
export async function recordMessages(
  { context, record }: TeamState,
  { key, timeKey, messages }: MessageRecord,
): Promise<HistoryEntry[]> {
  const timestamp = new Date(await context.now(timeKey)).toISOString()
  const entries = messages.map(({ from, text = '', artifacts = [], attachments, error, stop_reason }, index) => ({
    step_id: messages.length === 1 ? key : `${key}/${index + 1}`,
    agent_name: from,
    timestamp,
    parts: [{ type: 'text' as const, text }],
    artifacts: [...artifacts],
    ...(attachments ? { attachments: attachments.map(({ name }) => name) } : undefined),
    ...{ handoff_triggered: false, handoff_target: null, handoff_reason: null },
    ...(error === undefined ? undefined : { error }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
  }))
  record.history.push(...entries)
  return entries
}

/** Sets the handoff of the latest history entries. A later decision in the same round overwrites it. */
export function recordHandoffTarget(
  { record }: TeamState,
  from: string,
  { to, reason }: { to: string | null; reason: string },
): void {
  const triggered = to !== null && to !== USER && to !== from
  for (const entry of record.latestEntries) {
    Object.assign(entry, {
      handoff_triggered: triggered,
      handoff_target: triggered ? to : null,
      handoff_reason: reason,
    })
  }
}

/** Adds a handoff to the output and emits `team:handoff`. */
export function recordHandoff(
  { context, round, record }: TeamState,
  { key, from, handoff, result }: { key: string; from: string; handoff: HandoffDecision; result?: TurnResult },
): void {
  const { to, by, reason, explanation, problems } = handoff
  record.handoffs.push({ round, from, to, by, handoff_reason: reason })
  context.emit(key, 'team:handoff', {
    ...{ round, from, to, by, handoff_reason: reason, explanation },
    ...(typeof result?.suggestedNext === 'string' ? { suggested: result.suggestedNext } : undefined),
    ...(problems.length > 0 ? { problems } : undefined),
    ...(result && result.variables.size > 0 ? { variables: Object.fromEntries(result.variables) } : undefined),
    ...(result?.synthesized ? { agreed: result.text } : undefined),
    ...(result?.thrown?.length ? { failed: [...result.thrown] } : undefined),
  })
}
