import { asTroupeError, fromRecord, TroupeError } from '../errors.ts'
import type { CallSite } from './call-site.ts'
import type { Event, ToolPre } from './event.ts'
import type { PatternResult } from './pattern.ts'

/** What one call may bring into a conversation. The rest is cut, and the answer says so. */
export const MAX_OUTPUT_CHARS = 256 * 1024

/** Writes a result down. */
export function answered(site: CallSite, pre: ToolPre, result: PatternResult, recovered = false): Event {
  if (typeof result !== 'object' || result === null || typeof result.success !== 'boolean') {
    throw new TroupeError('tool_failed', `${pre.tool} did not return {success, output, error}`, { retry: false })
  }
  if (!result.success) {
    const words = result.error ?? `${pre.tool} failed without saying why`
    const error = result.detail ? fromRecord(result.detail) : new TroupeError('tool_failed', words)
    return failed(site, pre, error, result)
  }
  const { output, cut } = bounded(result.output)
  return site.x.journal.append(
    'tool:post',
    {
      ...about(site, pre, result),
      status: 'ok',
      output,
      ...(result.files ? { files: result.files } : undefined),
      ...(cut > 0 ? { truncated: cut } : undefined),
      ...(recovered ? { recovered } : undefined),
      ...(result.started ? { started: result.started } : undefined),
      ...(result.collected ? { collected: result.collected } : undefined),
      ...(result.planning === undefined ? undefined : { planning: result.planning }),
    },
    site.session.id,
  )
}

/** What is known of a call when it is answered. */
export type About = Partial<ToolPre> & { tool: string; tool_call_id: string }

/** Writes a failure down: an answer like any other. */
export function failed(site: CallSite, pre: About, thrown: unknown, result?: PatternResult): Event {
  const error = brief(asTroupeError(thrown, 'tool_failed'))
  return site.x.journal.append(
    'tool:error',
    {
      ...about(site, pre, result),
      error: error.message,
      detail: error.toJSON(),
      ...(result?.output === undefined ? undefined : { output: bounded(result.output).output }),
      ...(result?.files ? { files: result.files } : undefined),
      ...(result?.collected ? { collected: result.collected } : undefined),
    },
    site.session.id,
  )
}

function about(site: CallSite, pre: About, result?: PatternResult) {
  // Who really worked, and in which session, is known only now when a session was resumed or an earlier result used.
  const { tool, tool_call_id, agent, sub_session_id, parent_session_id } = { ...pre, ...result?.worked }
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

function brief(error: TroupeError): TroupeError {
  if (error.message.length <= MAX_OUTPUT_CHARS) return error
  return fromRecord({ ...error.toJSON(), message: `${error.message.slice(0, MAX_OUTPUT_CHARS)}…` })
}

/** Output within bounds: text is cut at the end, anything else that is too large becomes cut JSON text. */
function bounded(output: unknown): { output: unknown; cut: number } {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
  if (text.length <= MAX_OUTPUT_CHARS) {
    // A copy: what a tool does to its answer later must not change what was recorded.
    return { output: typeof output === 'string' ? output : JSON.parse(text || 'null'), cut: 0 }
  }
  const cut = text.length - MAX_OUTPUT_CHARS
  const notice = `\n[${cut} more characters were left out; ask for a smaller part]`
  return { output: text.slice(0, MAX_OUTPUT_CHARS).toWellFormed() + notice, cut }
}
