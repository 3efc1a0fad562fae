import { errorFromRecord, TroupeError, toTroupeError } from '../../errors.ts'
import type { Event, ToolPre } from '../event.ts'
import type { PatternResult } from '../pattern.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/** What one call may bring into a conversation. The rest is cut, and the answer says so. */
export const MAX_TOOL_OUTPUT_CHARS = 256 * 1024

/** Writes a result down. */
export function recordToolResult(site: ToolCallScope, pre: ToolPre, result: PatternResult, recovered = false): Event {
  if (typeof result !== 'object' || result === null || typeof result.success !== 'boolean') {
    throw new TroupeError('tool_failed', `${pre.tool} did not return {success, output, error}`, { retry: false })
  }
  if (!result.success) {
    const words = result.error ?? `${pre.tool} failed without saying why`
    const error = result.detail ? errorFromRecord(result.detail) : new TroupeError('tool_failed', words)
    return recordToolError(site, pre, error, result)
  }
  const { output, cut } = truncateOutput(result.output)
  return site.execution.journal.append(
    'tool:post',
    {
      ...toolEventFields(site, pre, result),
      status: 'ok',
      output,
      ...(result.files ? { files: result.files } : undefined),
      ...(cut > 0 ? { truncated: cut } : undefined),
      ...(recovered ? { recovered } : undefined),
      ...(result.started ? { started: result.started } : undefined),
      ...(result.collected ? { collected: result.collected } : undefined),
      ...(result.plan_mode === undefined ? undefined : { plan_mode: result.plan_mode }),
    },
    site.session.id,
  )
}

/** What is known of a call when it is answered. */
export type PartialToolCall = Partial<ToolPre> & { tool: string; tool_call_id: string }

/** Writes a failure down: an answer like any other. */
export function recordToolError(
  site: ToolCallScope,
  pre: PartialToolCall,
  thrown: unknown,
  result?: PatternResult,
): Event {
  const error = truncateError(toTroupeError(thrown, 'tool_failed'))
  return site.execution.journal.append(
    'tool:error',
    {
      ...toolEventFields(site, pre, result),
      error: error.message,
      detail: error.toJSON(),
      ...(result?.output === undefined ? undefined : { output: truncateOutput(result.output).output }),
      ...(result?.files ? { files: result.files } : undefined),
      ...(result?.collected ? { collected: result.collected } : undefined),
    },
    site.session.id,
  )
}

function toolEventFields(site: ToolCallScope, pre: PartialToolCall, result?: PatternResult) {
  // Who really worked, and in which session, is known only now when a session was resumed or an earlier result used.
  const { tool, tool_call_id, agent, sub_session_id, parent_session_id } = { ...pre, ...result?.performed_by }
  return {
    key: site.key,
    tool,
    tool_call_id,
    parallel_group_id: site.group,
    ...(agent === undefined ? undefined : { agent }),
    ...(sub_session_id === undefined ? undefined : { sub_session_id }),
    ...(parent_session_id === undefined ? undefined : { parent_session_id }),
  }
}

function truncateError(error: TroupeError): TroupeError {
  if (error.message.length <= MAX_TOOL_OUTPUT_CHARS) return error
  return errorFromRecord({ ...error.toJSON(), message: `${error.message.slice(0, MAX_TOOL_OUTPUT_CHARS)}…` })
}

/** Output within bounds: text is cut at the end, anything else that is too large becomes cut JSON text. */
function truncateOutput(output: unknown): { output: unknown; cut: number } {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
  if (text.length <= MAX_TOOL_OUTPUT_CHARS) {
    // A copy: what a tool does to its answer later must not change what was recorded.
    return { output: typeof output === 'string' ? output : JSON.parse(text || 'null'), cut: 0 }
  }
  const cut = text.length - MAX_TOOL_OUTPUT_CHARS
  const notice = `\n[${cut} more characters were left out; ask for a smaller part]`
  return { output: text.slice(0, MAX_TOOL_OUTPUT_CHARS).toWellFormed() + notice, cut }
}
