import { TroupeError, unknownNameError } from '../../errors.ts'
import { callPattern } from '../../kernel/call-pattern.ts'
import type { Event, ToolPre } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import { recordValue, settleOnce } from '../../kernel/journal/step.ts'
import type { ToolCallPart } from '../../kernel/model.ts'
import type { PatternTool } from '../../kernel/pattern.ts'
import { isConfiguredForModels } from '../../kernel/session/availability.ts'
import type { Tool, ToolCall, ToolProgress, ToolResult } from '../../kernel/tool.ts'
import { definedFields } from '../../schema/json-value.ts'
import { validateValue } from '../../schema/schema.ts'
import { hookScope, toUserCodeError } from '../call-hook.ts'
import { toolForSession } from '../session-tools.ts'
import { withTimeout } from '../with-timeout.ts'
import type { AnyTool, ResolvedToolCall } from './resolve-tool-call.ts'
import { requireDelegationDepth, resolveToolCall } from './resolve-tool-call.ts'
import type { ToolCallScope } from './tool-call-scope.ts'
import type { ToolAction } from './tool-permission.ts'
import { requirePermission } from './tool-permission.ts'
import { ProgressRecorder } from './tool-progress.ts'
import type { PartialToolCall } from './tool-result.ts'
import { recordToolError, recordToolResult, toToolResult } from './tool-result.ts'

/*
 * One tool call of a turn, as a step. Every call gets a result, whatever happens to it.
 * 1. The verdict of hooks is in the journal before the call is executed, and is not asked for again.
 * 2. Write-ahead: an action is on disk as begun before it is executed. Begun without an end, it is never repeated: `recover`
 *    finds out, or the model is told that the outcome is unknown.
 * 3. An abort is no result: it is not recorded, and the session ends with the abort's reason.
 */

const DEFAULT_TOOL_TIMEOUT_MS = 120_000

/** Executes one call, or finds it in the journal; returns its outcome, `tool:post` or `tool:error`. */
export async function runToolCall(scope: ToolCallScope, call: ToolCallPart): Promise<Event> {
  return settleOnce(scope, () => settleToolCall(scope, call))
}

async function settleToolCall(scope: ToolCallScope, call: ToolCallPart): Promise<Event> {
  const { execution, key, signal } = scope
  const begun = execution.journalIndex.opening(key)
  const partial: PartialToolCall = {
    tool: execution.ports.patternTools.get(call.name)?.name ?? call.name,
    tool_call_id: call.id,
  }
  try {
    if (isEvent(begun, 'tool:pre')) return await recoverToolCall(scope, Object.assign(partial, begun.data))
    return await beginToolCall(scope, call, partial)
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    if (thrown instanceof TroupeError && isFatal(thrown)) throw thrown
    return recordToolError(scope, partial, thrown)
  }
}

/** Fills in `partial` as the call becomes known, so that a failure on the way is recorded with those facts. */
async function beginToolCall(scope: ToolCallScope, call: ToolCallPart, partial: PartialToolCall): Promise<Event> {
  const { execution, session, signal } = scope
  signal.throwIfAborted()
  const { tool, input, parsed } = await resolveToolCall(scope, call)
  const pre: ToolPre = Object.assign(partial, toToolPre(scope, call, { tool, input, parsed }))
  requireDelegationDepth(scope, tool)
  if (tool.kind === 'pattern') requireConfiguredModels(scope, tool.name, input)
  const permission = permissionSubject(scope, tool, parsed)
  const { subject } = permission
  const { excludedGlobs, approvedBase } = await requirePermission(scope, {
    tool,
    input,
    ...permission,
    ...preview(tool, parsed),
    needsApproval: await needsApproval(scope, tool, { pre, parsed }),
  })
  if (tool.kind === 'pattern') {
    execution.journal.append('tool:pre', { ...pre }, session.id)
    return runPatternTool(scope, tool, pre)
  }
  Object.assign(pre, definedFields({ subject, excluded_globs: excludedGlobs, approved_base: approvedBase }))
  return execution.runEffect(async () => {
    if (tool.kind === 'act') await execution.ensureReplayed()
    signal.throwIfAborted()
    execution.journal.append('tool:pre', { ...pre }, session.id)
    await execution.journal.commit(tool.kind === 'act' ? 'full' : 'normal')
    await execution.ensureLease()
    return recordToolResult(scope, pre, await executeTool(scope, tool, pre))
  })
}

function toToolPre(scope: ToolCallScope, call: ToolCallPart, { tool, input, parsed }: ResolvedToolCall): ToolPre {
  const { execution, key } = scope
  return {
    key,
    tool: tool.name,
    tool_call_id: call.id,
    parallel_group_id: scope.group,
    kind: tool.kind,
    category: tool.category,
    input,
    idempotency_key: execution.idempotencyKey(key),
    ...(input === call.input ? undefined : { original_input: call.input }),
    ...(tool.kind === 'pattern'
      ? tool.pattern.eventFields?.(scope.contextFor(tool.pattern, key), parsed as never)
      : undefined),
  }
}

function preview(tool: AnyTool, parsed: unknown): Pick<ToolAction, 'preview'> {
  return tool.kind === 'pattern' || !tool.preview ? {} : { preview: () => tool.preview?.(parsed as never) }
}

/** Recorded, so that a resumed run asks about the same calls. A tool whose answer is an error or too late is asked about: it must not fail open. */
async function needsApproval(
  scope: ToolCallScope,
  tool: AnyTool,
  { pre, parsed }: { pre: ToolPre; parsed: unknown },
): Promise<boolean> {
  if (tool.kind === 'pattern' || !tool.needsApproval) return false
  const { execution, key, signal, session } = scope
  const { world } = execution.ports
  const lazySignal = new LazyAbortSignal()
  const ask = async () => tool.needsApproval?.(parsed as never, toToolCall(scope, pre, lazySignal))
  const ms = tool.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS
  const timeoutError = () => toolTimeoutError(tool, { ms })
  const onStop = (reason: unknown) => lazySignal.abort(reason)
  const step = { execution, key: `${key}/approval`, signal, session_id: session.id, external: true as const }
  return recordValue(step, () =>
    execution.runEffect(async () => {
      try {
        return (await withTimeout({ world, signal, ms, timeoutError, onStop }, ask())) !== false
      } catch {
        signal.throwIfAborted()
        return true
      }
    }),
  )
}

/** The subject that permission rules match: a path, a command, an address, agents. */
function permissionSubject(
  scope: ToolCallScope,
  tool: AnyTool,
  parsed: unknown,
): Pick<ToolAction, 'subject' | 'agents'> {
  if (tool.kind !== 'pattern') return { subject: tool.subject?.(parsed as never) }
  const agents = tool.pattern.agents?.(parsed as never, scope.contextFor(tool.pattern, scope.key))
  return { subject: agents?.join(', '), ...(agents ? { agents } : undefined) }
}

/** The call had begun in an earlier execution and has no outcome. */
async function recoverToolCall(scope: ToolCallScope, pre: ToolPre): Promise<Event> {
  const { execution, session, signal } = scope
  const { patternTools, world } = execution.ports
  const unknown = new TroupeError('outcome_unknown', `the tool ${pre.tool} had begun when the run was interrupted`, {
    hint: 'it may or may not have taken effect, and was not repeated; check before you call it again',
  })
  const tool = toolForSession(execution, session.opening, pre.tool) ?? patternTools.get(pre.tool)
  if (!tool && pre.kind === 'act') throw unknown
  if (!tool) throw unknownNameError('unknown_tool', { kind: 'tool', name: pre.tool, known: session.opening.tools })
  if (tool.kind === 'pattern') return runPatternTool(scope, tool, pre)
  if (pre.kind !== 'act') {
    return execution.runEffect(async () => recordToolResult(scope, pre, await executeTool(scope, tool, pre)))
  }
  const recover = tool.recover
  if (!recover) throw unknown
  return execution.runEffect(async () => {
    const recovering = async () => recover.call(tool, parsedInput(tool, pre) as never, toToolCall(scope, pre, scope))
    const timeout = { world, signal, ms: tool.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS, timeoutError: () => unknown }
    const found = await withTimeout(timeout, recovering()).catch(() => {
      signal.throwIfAborted()
      throw unknown
    })
    if (found) return recordToolResult(scope, pre, { ...toToolResult(found), recovered: true })
    await execution.ensureReplayed()
    await execution.ensureLease()
    return recordToolResult(scope, pre, await executeTool(scope, tool, pre))
  })
}

async function runPatternTool(scope: ToolCallScope, tool: PatternTool, pre: ToolPre): Promise<Event> {
  const { pattern } = tool
  const result = await callPattern(pattern, scope.contextFor(pattern, scope.key), parsedInput(tool, pre))
  // A failure caused by the abort is not recorded: the record would keep a resumed run from continuing below this call.
  if (scope.signal.aborted && !result?.success) throw scope.signal.reason
  const cut = scope.execution.ensureCut()
  if (cut) await cut
  return recordToolResult(scope, pre, result)
}

/** Executes the tool until it returns, times out, or the session is aborted. */
async function executeTool(scope: ToolCallScope, tool: Tool, pre: ToolPre): Promise<ToolResult> {
  const { execution, signal } = scope
  // The run may have been cancelled while `tool:pre` was committed.
  signal.throwIfAborted()
  const { world } = execution.ports
  const lazySignal = new LazyAbortSignal()
  let recorder: ProgressRecorder | undefined
  let busyAt = world.monotonic()
  const reportProgress = (progress: ToolProgress) => {
    busyAt = world.monotonic()
    recorder ??= new ProgressRecorder(scope, pre)
    recorder.record(progress)
  }
  try {
    const call = Object.assign(toToolCall(scope, pre, lazySignal), { reportProgress })
    const result = tool.execute(parsedInput(tool, pre) as never, call)
    if (!(result instanceof Promise)) return toToolResult(result)
    const ms = tool.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS
    const max_ms = tool.max_timeout_ms ?? ms
    const timeoutError = () => toolTimeoutError(tool, world.monotonic() - busyAt < ms ? { max_ms } : { ms })
    const onStop = (reason: unknown) => lazySignal.abort(reason)
    const timing = { world, signal, ms, max_ms, lastBusyAt: () => busyAt, timeoutError, onStop }
    return toToolResult(await withTimeout(timing, result))
  } catch (thrown) {
    throw toUserCodeError(thrown, 'tool_failed')
  } finally {
    recorder?.end()
  }
}

/** The signal that a tool gets. It is created when first read: most tools never do, and creating one costs more than a small call. */
class LazyAbortSignal {
  #controller: AbortController | undefined
  #reason: unknown
  #isAborted = false

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#isAborted) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#isAborted = true
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}

function toolTimeoutError(tool: Tool, { ms, max_ms }: { ms?: number; max_ms?: number }): TroupeError {
  const message =
    max_ms === undefined
      ? `${tool.name} did not return within ${ms} ms (\`timeout_ms\`)`
      : `${tool.name} reported progress but did not return within ${max_ms} ms (\`max_timeout_ms\`)`
  return new TroupeError('tool_timeout', message, {
    hint: tool.kind === 'act' ? 'it may have taken effect; check before you call it again' : 'try a smaller request',
  })
}

function toToolCall(scope: ToolCallScope, pre: ToolPre, abort: { signal: AbortSignal }): ToolCall {
  const { execution, session } = scope
  const { tool_call_id, idempotency_key, subject, approved_base, excluded_globs } = pre
  return {
    ...hookScope(scope),
    ...{ tool_call_id, idempotency_key },
    ...definedFields({ subject, approved_base, excluded_globs, workspace: session.opening.workspace }),
    ...(isReadOnlyCall(scope, pre.tool) ? { read_only: true as const } : undefined),
    ...(session.opening.file_artifacts ? { file_artifacts: true as const } : undefined),
    ensureLease: async () => execution.ensureLease(),
    messages: () => session.messages.slice(0, session.messages.findLastIndex(({ role }) => role !== 'assistant') + 1),
    get signal() {
      return abort.signal
    },
  }
}

/** True for an agent without editing tools whose rules allow only some uses of this tool: it must not write through it. */
function isReadOnlyCall({ execution, session }: ToolCallScope, tool: string): boolean {
  const { agent, inherited_rules = [] } = session.opening
  const rules = [...inherited_rules, agent.permissions ?? {}].flatMap(({ allow = [] }) => allow)
  return (
    rules.some((rule) => rule.startsWith(`${tool}(`)) &&
    !session.opening.tools.some((name) => execution.ports.tools.get(name)?.edits)
  )
}

/** Parses the recorded input again: a schema may transform JSON into values that JSON cannot hold. */
function parsedInput(tool: AnyTool, pre: ToolPre): unknown {
  const parsed = validateValue(tool.input, pre.input)
  if (parsed.ok) return parsed.value
  const message = `the recorded input of ${tool.name} no longer matches its schema: ${parsed.problem}`
  throw new TroupeError('tool_failed', message, {
    hint: "restore the tool's `input` schema, or fork the run before this call",
  })
}

const MAX_DEPTH = 16

/** Rejects a call whose arguments name a model that the operator has not configured. Confused deputy: the name is a model's own choice. */
function requireConfiguredModels({ execution }: ToolCallScope, tool: string, input: unknown): void {
  for (const name of namedModels(input, MAX_DEPTH)) {
    if (isConfiguredForModels(execution, name)) continue
    throw new TroupeError('unknown_model', `${tool}: \`model\` '${name}' is none of the configured models`, {
      hint: 'leave out `model`, or use a role: fast, general or reasoning',
      alternatives: ['fast', 'general', 'reasoning'],
    })
  }
}

/** The values of every field `model`. */
function namedModels(value: unknown, depth: number): string[] {
  if (typeof value !== 'object' || value === null || depth === 0) return []
  return Object.entries(value).flatMap(([key, each]) =>
    key === 'model' && typeof each === 'string' ? [each] : namedModels(each, depth - 1),
  )
}
