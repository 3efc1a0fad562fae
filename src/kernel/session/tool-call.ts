import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Event, ToolPre } from '../event.ts'
import { isEvent } from '../event.ts'
import { isFatal } from '../journal/fatal-error.ts'
import type { ToolCallPart } from '../model.ts'
import type { PatternTool } from '../pattern.ts'
import { formatIssues } from '../schema.ts'
import type { Tool, ToolCall, ToolResult } from '../tool.ts'
import type { AnyTool } from './resolve-tool-call.ts'
import { resolveToolCall } from './resolve-tool-call.ts'
import type { ToolCallScope } from './tool-call-scope.ts'
import { requirePermission } from './tool-permission.ts'
import type { PartialToolCall } from './tool-result.ts'
import { recordToolError, recordToolResult } from './tool-result.ts'
import { withTimeout } from './with-timeout.ts'

/*
 * One tool call of a turn, as a step. Every call is answered, whatever happens to it.
 * 1. What a hook decided is in the journal before the call is made, and is not asked again.
 * 2. An action is on disk as begun before it is made. Begun without an end, it is never repeated: `recover` looks, or
 *    the model is told that nobody knows.
 * 3. An abort is no answer: it is not recorded, and the session ends with its reason.
 */

const DEFAULT_TOOL_TIMEOUT_MS = 120_000

/** Answers one call; returns the event that did. */
export async function runToolCall(site: ToolCallScope, call: ToolCallPart): Promise<Event> {
  const { execution, key } = site
  execution.claim(key)
  const settled = execution.journalIndex.outcome(key)
  if (settled) return settled
  const begun = execution.journalIndex.opening(key)
  const about: PartialToolCall = {
    tool: execution.ports.patternTools.get(call.name)?.name ?? call.name,
    tool_call_id: call.id,
  }
  try {
    if (isEvent(begun, 'tool:pre')) return await recoverToolCall(site, Object.assign(about, begun.data))
    return await beginToolCall(site, call, about)
  } catch (thrown) {
    if (site.signal.aborted) throw site.signal.reason
    if (thrown instanceof TroupeError && isFatal(thrown)) throw thrown
    return recordToolError(site, about, thrown)
  }
}

/** `about` takes in what becomes known of the call, for whoever has to say that it failed. */
async function beginToolCall(site: ToolCallScope, call: ToolCallPart, about: PartialToolCall): Promise<Event> {
  const { execution, session } = site
  site.signal.throwIfAborted()
  const { tool, input, parsed } = await resolveToolCall(site, call)
  const pre: ToolPre = Object.assign(about, {
    key: site.key,
    tool: tool.name,
    tool_call_id: call.id,
    parallel_group_id: site.group,
    kind: tool.kind,
    category: tool.category,
    input,
    idempotency_key: execution.idempotencyKey(site.key),
    ...(input === call.input ? undefined : { original_input: call.input }),
    ...(tool.kind === 'pattern' ? tool.pattern.eventFields?.(site.contextFor(site.key), parsed as never) : undefined),
  })
  const subject =
    tool.kind === 'pattern'
      ? tool.pattern.subject?.(parsed as never, site.contextFor(site.key))
      : tool.subject?.(parsed as never)
  const { excludedGlobs } = await requirePermission(site, { tool, input, subject })
  if (tool.kind === 'pattern') {
    execution.journal.append('tool:pre', { ...pre }, session.id)
    return runPatternTool(site, tool, pre)
  }
  if (subject !== undefined) pre.subject = subject
  if (excludedGlobs) pre.excluded_globs = excludedGlobs
  return execution.runEffect(async () => {
    if (tool.kind === 'act') await execution.ensureReplayed()
    site.signal.throwIfAborted()
    execution.journal.append('tool:pre', { ...pre }, session.id)
    await execution.journal.commit(tool.kind === 'act' ? 'full' : 'normal')
    await execution.ensureLease()
    return recordToolResult(site, pre, await executeTool(site, tool, pre))
  })
}

/** The call had begun in an earlier execution and has no end. */
async function recoverToolCall(site: ToolCallScope, pre: ToolPre): Promise<Event> {
  const { execution, session, signal } = site
  const unknown = new TroupeError('outcome_unknown', `${pre.tool} had begun when the run was interrupted`, {
    hint: 'it may or may not have taken effect, and was not repeated; check before you call it again',
  })
  const tool = execution.ports.tools.get(pre.tool) ?? execution.ports.patternTools.get(pre.tool)
  if (!tool && pre.kind === 'act') throw unknown
  if (!tool) throw unknownNameError('unknown_tool', { kind: 'tool', name: pre.tool, known: session.opening.tools })
  if (tool.kind === 'pattern') return runPatternTool(site, tool, pre)
  if (pre.kind !== 'act')
    return execution.runEffect(async () => recordToolResult(site, pre, await executeTool(site, tool, pre)))
  const recover = tool.recover
  if (!recover) throw unknown
  return execution.runEffect(async () => {
    const looking = async () => recover.call(tool, parsedInput(tool, pre) as never, toToolCall(site, pre, site))
    const patience = {
      world: execution.ports.world,
      signal,
      ms: tool.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS,
      timeoutError: () => unknown,
    }
    const found = await withTimeout(patience, looking()).catch(() => {
      signal.throwIfAborted()
      throw unknown
    })
    if (found) return recordToolResult(site, pre, found, true)
    await execution.ensureReplayed()
    await execution.ensureLease()
    return recordToolResult(site, pre, await executeTool(site, tool, pre))
  })
}

async function runPatternTool(site: ToolCallScope, tool: PatternTool, pre: ToolPre): Promise<Event> {
  const result = await tool.pattern.execute(site.contextFor(site.key), parsedInput(tool, pre) as never)
  // What failed with us is no answer: recorded, it would keep a resumed run from going on below.
  if (site.signal.aborted && !result?.success) throw site.signal.reason
  return recordToolResult(site, pre, result)
}

/** Carries the call out, until it ends, its time is up, or the session is stopped. */
async function executeTool(site: ToolCallScope, tool: Tool, pre: ToolPre): Promise<ToolResult> {
  const { signal, execution } = site
  // The run may have been cancelled while the begin was being written.
  signal.throwIfAborted()
  const stopping = new LazyAbortSignal()
  const made = tool.execute(parsedInput(tool, pre) as never, toToolCall(site, pre, stopping))
  if (!(made instanceof Promise)) return made
  const ms = tool.timeout_ms ?? DEFAULT_TOOL_TIMEOUT_MS
  const timeoutError = () => toolTimeoutError(tool, ms)
  return withTimeout(
    { world: execution.ports.world, signal, ms, timeoutError, onStop: (reason) => stopping.stop(reason) },
    made,
  )
}

/** A tool's signal, made when it is looked at: most tools never do, and making one costs more than a small call. */
class LazyAbortSignal {
  #own: AbortController | undefined
  #reason: unknown
  #stopped = false

  get signal(): AbortSignal {
    this.#own ??= new AbortController()
    if (this.#stopped) this.#own.abort(this.#reason)
    return this.#own.signal
  }

  stop(reason: unknown): void {
    this.#stopped = true
    this.#reason = reason
    this.#own?.abort(reason)
  }
}

function toolTimeoutError(tool: Tool, limit: number): TroupeError {
  return new TroupeError('tool_timeout', `${tool.name} did not answer within ${limit} ms`, {
    hint: tool.kind === 'act' ? 'it may have taken effect; check before you call it again' : 'try a smaller request',
  })
}

function toToolCall(site: ToolCallScope, pre: ToolPre, stopping: { signal: AbortSignal }): ToolCall {
  return {
    run_id: site.execution.run.id,
    session_id: site.session.id,
    agent: site.session.opening.agent.name,
    tool_call_id: pre.tool_call_id,
    idempotency_key: pre.idempotency_key,
    ...(pre.subject === undefined ? undefined : { subject: pre.subject }),
    ...(pre.excluded_globs === undefined ? undefined : { excluded_globs: pre.excluded_globs }),
    ...(isReadOnlyCall(site, pre.tool) ? { read_only: true as const } : undefined),
    get signal() {
      return stopping.signal
    },
  }
}

/** True for an agent that can edit nothing and may use this tool only in some ways: then it is not to write by it either. */
function isReadOnlyCall({ execution, session }: ToolCallScope, tool: string): boolean {
  const { agent, inherited_rules = [] } = session.opening
  const rules = [...inherited_rules, agent.permissions ?? {}].flatMap(({ allow = [] }) => allow)
  return (
    rules.some((rule) => rule.startsWith(`${tool}(`)) &&
    !session.opening.tools.some((name) => execution.ports.tools.get(name)?.edits)
  )
}

/** The recorded input as the tool gets it: a schema may transform what JSON can hold into what it cannot. */
function parsedInput(tool: AnyTool, pre: ToolPre): unknown {
  const parsed = tool.input.safeParse(pre.input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `the recorded input of ${tool.name} does not fit: ${formatIssues(parsed.error)}`)
}
