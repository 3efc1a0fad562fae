import { errorFromRecord, TroupeError, toTroupeError } from '../../errors.ts'
import type { Event, ToolPre } from '../../kernel/event.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import { redactJson } from '../../kernel/redactor.ts'
import { retryField, stepsToRetry } from '../../kernel/resumable-failure.ts'
import { fitsArtifact, writeArtifact } from '../../kernel/session/artifacts.ts'
import type { ToolResult } from '../../kernel/tool.ts'
import { definedFields } from '../../schema/json-value.ts'
import type { ToolCallScope } from './tool-call-scope.ts'

/** Limit of one result in a conversation. The rest is truncated, and the result says so. */
export const MAX_TOOL_OUTPUT_CHARS = 256 * 1024

/** A result, marked if `recover` found it after a crash. */
type RecordableResult = PatternResult & { recovered?: true }

/** The returned value of a tool as a result: a value without a boolean `success` is the output of a success. */
export function toToolResult(returned: unknown): ToolResult {
  const { success } = (returned ?? {}) as { success?: unknown }
  return typeof success === 'boolean' ? (returned as ToolResult) : { success: true, output: returned ?? null }
}

/** Appends the result of a call. */
export function recordToolResult(scope: ToolCallScope, pre: ToolPre, result: RecordableResult): Event {
  recordFileArtifacts(scope, result)
  if (!result.success) {
    const message = result.error ?? `${pre.tool} failed without an error message`
    const hint = `correct the \`input\` of ${pre.tool}, or continue without it`
    const error = result.detail ? errorFromRecord(result.detail) : new TroupeError('tool_failed', message, { hint })
    return appendToolError(scope, pre, { error, result })
  }
  const { recovered, started, collected, plan_mode } = result
  const { output, cut } = toRecordedOutput(result.output, scope.execution.ports.redactor)
  return scope.execution.journal.append(
    'tool:post',
    {
      ...toolEventFields(scope, pre, result),
      status: 'ok',
      output,
      ...(result.attachments?.length ? { attachments: result.attachments } : undefined),
      ...fileFields(result),
      ...(cut > 0 ? { truncated: cut } : undefined),
      ...definedFields({ recovered, started, collected, plan_mode }),
      ...retryField(stepsToRetry(result)),
    },
    scope.session.id,
  )
}

/** Keeps text files that the call wrote as artifacts. Settled by key: a recovered call writes no second version. */
function recordFileArtifacts({ execution, key, session, signal }: ToolCallScope, { contents }: PatternResult): void {
  if (!session.opening.file_artifacts || !contents) return
  const { redactor } = execution.ports
  for (const [index, [name, content]] of Object.entries(contents).entries()) {
    const scope = { execution, key: `${key}/file/${index}`, signal }
    const author = { session_id: session.id, opening: session.opening }
    const kept = redactor ? String(redactOutput(redactor, content)) : content
    // The file is written already: the call has not failed because no copy of it is kept.
    if (fitsArtifact(kept)) writeArtifact(scope, author, { name, content: kept })
  }
}

/** The facts known about a call when it fails. */
export type PartialToolCall = Partial<ToolPre> & { tool: string; tool_call_id: string }

/** Appends the failure of a call. */
export function recordToolError(scope: ToolCallScope, pre: PartialToolCall, thrown: unknown): Event {
  return appendToolError(scope, pre, { error: toTroupeError(thrown, 'tool_failed') })
}

function appendToolError(
  scope: ToolCallScope,
  pre: PartialToolCall,
  failure: { error: TroupeError; result?: PatternResult },
): Event {
  const { result } = failure
  const { redactor } = scope.execution.ports
  const error = toRecordedError(failure.error, redactor)
  return scope.execution.journal.append(
    'tool:error',
    {
      ...toolEventFields(scope, pre, result),
      error: error.message,
      detail: error.toJSON(),
      ...(result?.output === undefined ? undefined : { output: toRecordedOutput(result.output, redactor).output }),
      ...fileFields(result),
      ...definedFields({ collected: result?.collected }),
      ...(result ? retryField(stepsToRetry(result)) : undefined),
    },
    scope.session.id,
  )
}

function fileFields({ files, created, deleted }: Pick<PatternResult, 'files' | 'created' | 'deleted'> = {}) {
  return {
    ...(files ? { files } : undefined),
    ...(created?.length ? { created } : undefined),
    ...(deleted?.length ? { deleted } : undefined),
  }
}

function toolEventFields(scope: ToolCallScope, pre: PartialToolCall, result?: PatternResult) {
  // A resumed session or a cached result is known only now, so these fields can differ from `tool:pre`.
  const { tool, tool_call_id, agent, sub_session_id, parent_session_id } = { ...pre, ...result?.performed_by }
  return {
    key: scope.key,
    tool,
    tool_call_id,
    parallel_group_id: scope.group,
    ...definedFields({ agent, sub_session_id, parent_session_id }),
  }
}

/** Redacts and truncates an error. A redactor that fails must not let the text pass unseen. */
function toRecordedError(error: TroupeError, redactor: Redactor | undefined): TroupeError {
  const record = error.toJSON()
  if (!redactor && record.message.length <= MAX_TOOL_OUTPUT_CHARS) return error
  let texts = { message: record.message, hint: record.hint, alternatives: record.alternatives }
  try {
    if (redactor) texts = redactJson(redactor, texts) as typeof texts
  } catch {
    texts = { message: 'the error message is withheld: `redact` failed on it', hint: REDACT_HINT, alternatives: [] }
  }
  const { message } = texts
  const isTooLong = message.length > MAX_TOOL_OUTPUT_CHARS
  return errorFromRecord({
    ...record,
    ...texts,
    message: isTooLong ? `${message.slice(0, MAX_TOOL_OUTPUT_CHARS)}…` : message,
  })
}

const REDACT_HINT = 'make `redact` of `createTroupe` return a text for every text'
/** Read beyond the limit before redaction, so that a secret at the limit is recognised whole. */
const REDACTION_MARGIN = 16 * 1024

/**
 * The output as it enters the journal and the conversation: without secrets, then truncated. Long text is truncated at its
 * end; other values that are too large become truncated JSON text.
 */
function toRecordedOutput(output: unknown, redactor: Redactor | undefined): { output: unknown; cut: number } {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? '')
  if (text.length <= MAX_TOOL_OUTPUT_CHARS) {
    // A copy: the tool may mutate its result later, and the record must not change with it.
    const copy: unknown = typeof output === 'string' ? output : JSON.parse(text || 'null')
    return { output: redactor ? redactOutput(redactor, copy) : copy, cut: 0 }
  }
  const start = text.slice(0, MAX_TOOL_OUTPUT_CHARS + REDACTION_MARGIN)
  const kept = (redactor ? String(redactOutput(redactor, start)) : start).slice(0, MAX_TOOL_OUTPUT_CHARS)
  const cut = text.length - MAX_TOOL_OUTPUT_CHARS
  const notice = `\n[truncated: ${cut} more characters; request a smaller part]`
  return { output: kept.toWellFormed() + notice, cut }
}

/** Fails closed: an output that could not be redacted is not recorded, nor is the error, which may quote it. */
function redactOutput(redactor: Redactor, output: unknown): unknown {
  try {
    return redactJson(redactor, output)
  } catch {
    throw new TroupeError('tool_failed', 'the output is withheld: `redact` failed on it', { hint: REDACT_HINT })
  }
}
