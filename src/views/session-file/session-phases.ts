import type { Event } from '../../kernel/event.ts'
import { isPatternEvent } from '../../run-model/reduce-run.ts'
import type { PhaseAnnotation, ToolCallRecord } from './agent-session.ts'
import type { SessionFileContribution } from './pattern-contributions.ts'
import { toIso } from './session-status.ts'

/** The phases that the pattern of the run records. `ended_at` is the end of the run, or `undefined` while it is in progress. */
export function phasesFrom(
  events: readonly Event[],
  own: SessionFileContribution | undefined,
  { calls, ended_at }: { calls: readonly ToolCallRecord[]; ended_at: number | undefined },
): PhaseAnnotation[] {
  if (!own?.source.phase) return []
  const phases = events.filter(isPatternEvent).flatMap((event) => {
    const phase = own.events.has(event.type) ? own.source.phase?.(event) : undefined
    return phase ? { ...phase, at: event.at } : []
  })
  const ordered = calls.toSorted((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at))
  return phases.map(({ phase_type, description, at }, index) => {
    const isLast = index === phases.length - 1
    const end = phases[index + 1]?.at ?? ended_at
    const inside = ordered.filter(({ started_at }) => {
      const time = Date.parse(started_at)
      return time >= at && (isLast || time < (end ?? Number.POSITIVE_INFINITY))
    })
    const [first, last] = [inside[0], inside.at(-1)]
    return {
      annotation_id: `phase-${index + 1}`,
      phase_type,
      started_at: toIso(at),
      ...(end === undefined ? undefined : { ended_at: toIso(end) }),
      ...(first && last ? { tool_call_range: { start_call_id: first.call_id, end_call_id: last.call_id } } : undefined),
      annotated_by: 'auto' as const,
      annotated_at: toIso(at),
      confidence: 'high' as const,
      description,
    }
  })
}
