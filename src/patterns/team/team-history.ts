import { USER } from '../../judgement/team/team-schema.ts'
import type { HandoffDecision } from './decide-handoff.ts'
import type { HistoryEntry } from './input.ts'
import type { TurnResult } from './member-turn.ts'
import type { TeamMessage } from './prompts.ts'
import type { TeamState } from './team-state.ts'

/** What was said under a key, with the key of the moment in which it was said. */
interface MessageRecord {
  key: string
  timeKey: string
  messages: readonly TeamMessage[]
}

/** Writes what was said into the history before anything is decided: what breaks off after it does not lose it. */
export async function recordMessages(
  floor: TeamState,
  { key, timeKey, messages }: MessageRecord,
): Promise<HistoryEntry[]> {
  const timestamp = new Date(await floor.context.now(timeKey)).toISOString()
  const entries = messages.map(({ from, text = '', artifacts = [], error, stop_reason }, index) => ({
    step_id: messages.length === 1 ? key : `${key}/${index + 1}`,
    agent_name: from,
    timestamp,
    parts: [{ type: 'text' as const, text }],
    artifacts: [...artifacts],
    ...{ handoff_triggered: false, handoff_target: null, handoff_reason: null },
    ...(error === undefined ? undefined : { error }),
    ...(stop_reason === undefined ? undefined : { stop_reason }),
  }))
  floor.history.push(...entries)
  return entries
}

/** Where the work goes after these words. What is decided anew before anyone has gone on takes the place of the first. */
export function recordHandoffTarget(
  { latestEntries }: TeamState,
  from: string,
  { to, reason }: { to: string | null; reason: string },
): void {
  const goesOn = to !== null && to !== USER && to !== from
  for (const entry of latestEntries) {
    Object.assign(entry, { handoff_triggered: goesOn, handoff_target: goesOn ? to : null, handoff_reason: reason })
  }
}

/** One decision: in the output of the run, and as an event with everything that led to it. */
export function recordHandoff(
  { context, round, handoffs }: TeamState,
  { key, from, handover, spoken }: { key: string; from: string; handover: HandoffDecision; spoken?: TurnResult },
): void {
  const { to, by, reason, explanation, problems } = handover
  handoffs.push({ round, from, to, by, handoff_reason: reason })
  context.emit(key, 'team:handoff', {
    ...{ round, from, to, by, handoff_reason: reason, explanation },
    ...(typeof spoken?.suggestedNext === 'string' ? { suggested: spoken.suggestedNext } : undefined),
    ...(problems.length > 0 ? { problems } : undefined),
    ...(spoken && spoken.variables.size > 0 ? { variables: Object.fromEntries(spoken.variables) } : undefined),
    ...(spoken?.synthesized ? { agreed: spoken.text } : undefined),
  })
}
