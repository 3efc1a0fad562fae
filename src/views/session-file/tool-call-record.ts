import type { ToolCallRecord } from './agent-session.ts'
import type { CallFacts, RunFacts, SegmentFacts } from './session-records.ts'
import { sessionStatus, toIso } from './session-status.ts'

const INTERRUPTED = 'interrupted: the run ended before the call had a result'

/** A tool call of a model. A call without a result in a run that has ended was interrupted. */
export function toCallRecord(facts: RunFacts, call: CallFacts): ToolCallRecord {
  const { ended_at = facts.end ? facts.last_at : undefined, outcome } = call
  const isOpen = outcome === undefined
  return {
    call_id: call.key,
    tool_name: call.tool,
    tool_category: call.category,
    ...timesOf(call.started_at, ended_at),
    input: { params: toParams(call.input) },
    output: isOpen
      ? { status: facts.end ? 'failed' : 'in_progress', ...(facts.end ? { error: INTERRUPTED } : undefined) }
      : {
          status: outcome.ok ? 'success' : 'failed',
          ...(outcome.result === undefined ? undefined : { result: outcome.result }),
          ...(outcome.error === undefined ? undefined : { error: outcome.error }),
          ...(outcome.truncated ? { truncated: true } : undefined),
        },
  }
}

/** The delegation of a pattern, which opens sessions without a tool call or several in one. */
export function toDelegationRecord(facts: RunFacts, segment: SegmentFacts): ToolCallRecord {
  const { opener, end, agent, instruction } = segment
  const error = end?.error?.message
  return {
    call_id: segment.key,
    tool_name: opener?.tool ?? facts.start?.pattern ?? 'unknown',
    tool_category: 'task_management',
    ...timesOf(segment.opened.at, segment.ended?.at ?? (facts.end ? facts.last_at : undefined)),
    input: { params: { agent: agent.name, instruction } },
    output: {
      status: sessionStatus(facts, end),
      ...(end ? { result: end.text } : undefined),
      ...(error === undefined ? undefined : { error }),
    },
    made_by_pattern: true,
    ...(opener ? { parent_call_id: opener.key } : undefined),
  }
}

function timesOf(started_at: number, ended_at: number | undefined) {
  const end = ended_at === undefined ? undefined : { ended_at: toIso(ended_at), duration_ms: ended_at - started_at }
  return { started_at: toIso(started_at), ...end }
}

/** Arguments that are no object, as a model may write them, under the name `value`. */
function toParams(input: unknown): Record<string, unknown> {
  if (input === undefined) return {}
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject ? (input as Record<string, unknown>) : { value: input }
}
