import { asTroupeError, fromRecord, TroupeError, unknownName } from '../errors.ts'
import type { Context } from './context.ts'
import type { Event, ToolPre } from './event.ts'
import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { isFatal } from './execution.ts'
import type { ToolCallPart } from './model.ts'
import type { PatternResult, PatternTool } from './pattern.ts'
import { problemsOf } from './schema.ts'
import type { SessionState } from './session.ts'
import type { Tool, ToolCall, ToolResult } from './tool.ts'
import { untilAborted } from './world.ts'

/*
 * One tool call of a turn, as a step. Every call is answered, whatever happens to it.
 * 1. What a hook decided is in the journal before the call is made, and is not asked again.
 * 2. An action is on disk as begun before it is made. Begun without an end, it is never repeated: `recover` looks, or
 *    the model is told that nobody knows.
 * 3. An abort is no answer: it is not recorded, and the session ends with its reason.
 */

const DEFAULT_TIMEOUT_MS = 120_000
/** What one call may bring into a conversation. The rest is cut, and the answer says so. */
export const MAX_OUTPUT_CHARS = 256 * 1024

export interface CallSite {
  x: Execution
  session: SessionState
  signal: AbortSignal
  key: string
  group: string
  /** A pattern's view of the run at this call. */
  contextFor(key: string): Context
}

type Callable = Tool | PatternTool

/** Answers one call; returns the event that did. */
export async function callTool(site: CallSite, call: ToolCallPart): Promise<Event> {
  const { x, key } = site
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (settled) return settled
  const begun = x.recorded.opened(key)
  try {
    if (isEvent(begun, 'tool:pre')) return await again(site, begun.data)
    return await anew(site, call)
  } catch (thrown) {
    if (site.signal.aborted) throw site.signal.reason
    if (thrown instanceof TroupeError && isFatal(thrown)) throw thrown
    return failed(site, { tool: call.name, tool_call_id: call.id }, thrown)
  }
}

async function anew(site: CallSite, call: ToolCallPart): Promise<Event> {
  const { x, session } = site
  if (site.signal.aborted) throw site.signal.reason
  const tool = find(site, call.name)
  let input = check(tool, call.input, call.invalid)
  let asked: unknown
  for (const hooks of x.ports.hooks) {
    if (!hooks.beforeTool) continue
    const proposed = {
      run_id: x.run.id,
      session_id: session.id,
      agent: session.open.agent.name,
      tool: tool.name,
      input,
    }
    const verdict = await x.effect(async () => hooks.beforeTool?.(proposed))
    if (verdict && 'deny' in verdict) {
      throw new TroupeError('denied', `the call of ${tool.name} was refused: ${verdict.deny}`, {
        hint: 'this is final for this call; do not repeat it unchanged',
      })
    }
    if (verdict) {
      asked ??= input
      input = changed(tool, verdict.input)
    }
  }
  const pre: ToolPre = {
    key: site.key,
    tool: tool.name,
    tool_call_id: call.id,
    parallel_group_id: site.group,
    kind: tool.kind,
    category: tool.category,
    input,
    idempotency_key: x.idempotencyKey(site.key),
    ...(asked === undefined ? undefined : { asked }),
    ...(tool.kind === 'pattern' ? tool.pattern.facts?.(site.contextFor(site.key), input as never) : undefined),
  }
  if (tool.kind === 'pattern') {
    x.journal.append('tool:pre', pre, session.id)
    return enterPattern(site, tool, pre)
  }
  return x.effect(async () => {
    if (tool.kind === 'act') await x.beforeAction()
    if (site.signal.aborted) throw site.signal.reason
    x.journal.append('tool:pre', pre, session.id)
    await x.journal.committed(tool.kind === 'act' ? 'full' : 'normal')
    await x.holdsLease()
    return answered(site, pre, await execute(site, tool, pre))
  })
}

/** The call had begun in an earlier execution and has no end. */
async function again(site: CallSite, pre: ToolPre): Promise<Event> {
  const { session } = site
  const unknown = new TroupeError('outcome_unknown', `${pre.tool} had begun when the run was interrupted`, {
    hint: 'it may or may not have taken effect, and was not repeated; check before you call it again',
  })
  const tool = site.x.ports.tools.get(pre.tool) ?? site.x.ports.patternTools.get(pre.tool)
  if (!tool && pre.kind === 'act') throw unknown
  if (!tool) throw unknownName('unknown_tool', 'tool', pre.tool, session.open.tools)
  if (tool.kind === 'pattern') return enterPattern(site, tool, pre)
  if (pre.kind !== 'act') return site.x.effect(async () => answered(site, pre, await execute(site, tool, pre)))
  const recover = tool.recover
  if (!recover) throw unknown
  return site.x.effect(async () => {
    let found: ToolResult | undefined
    try {
      found = await recover.call(tool, pre.input as never, callFacts(site, pre, site.signal))
    } catch {
      throw unknown
    }
    if (found) return answered(site, pre, found, true)
    await site.x.beforeAction()
    await site.x.holdsLease()
    return answered(site, pre, await execute(site, tool, pre))
  })
}

async function enterPattern(site: CallSite, tool: PatternTool, pre: ToolPre): Promise<Event> {
  const result = await tool.pattern.execute(site.contextFor(site.key), pre.input as never)
  // What failed with us is no answer: recorded, it would keep a resumed run from going on below.
  if (site.signal.aborted && !result?.success) throw site.signal.reason
  return answered(site, pre, result)
}

async function execute(site: CallSite, tool: Tool, pre: ToolPre): Promise<ToolResult> {
  // The run may have been cancelled while the begin was being written.
  site.signal.throwIfAborted()
  const limit = tool.timeout_ms ?? DEFAULT_TIMEOUT_MS
  const own = new AbortController()
  const done = new AbortController()
  const forward = () => own.abort(site.signal.reason)
  site.signal.addEventListener('abort', forward, { once: true })
  const expired = site.x.ports.world.sleep(limit, done.signal).then(
    () => {
      const error = new TroupeError('tool_timeout', `${tool.name} did not answer within ${limit} ms`, {
        hint:
          tool.kind === 'act' ? 'it may have taken effect; check before you call it again' : 'try a smaller request',
      })
      own.abort(error)
    },
    () => {},
  )
  try {
    const running = Promise.resolve(tool.execute(pre.input as never, callFacts(site, pre, own.signal)))
    return await untilAborted(running, own.signal)
  } finally {
    site.signal.removeEventListener('abort', forward)
    done.abort()
    await expired
  }
}

function callFacts(site: CallSite, pre: ToolPre, signal: AbortSignal): ToolCall {
  return {
    run_id: site.x.run.id,
    session_id: site.session.id,
    agent: site.session.open.agent.name,
    tool_call_id: pre.tool_call_id,
    idempotency_key: pre.idempotency_key,
    signal,
  }
}

function find(site: CallSite, name: string): Callable {
  const { x, session } = site
  const granted = session.open.tools
  const tool = x.ports.tools.get(name) ?? x.ports.patternTools.get(name)
  if (!tool || !granted.includes(tool.name)) throw unknownName('unknown_tool', 'tool', name, granted)
  return tool
}

function check(tool: Callable, input: unknown, invalid: string | undefined): unknown {
  if (invalid !== undefined) throw badInput(tool.name, `the arguments are not JSON: ${invalid}`)
  const parsed = tool.input.safeParse(input)
  if (!parsed.success) throw badInput(tool.name, problemsOf(parsed.error))
  return parsed.data
}

/** The model must not pay for what a hook made of its call. */
function changed(tool: Callable, input: unknown): unknown {
  const parsed = tool.input.safeParse(input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `a hook changed the input of ${tool.name}: ${problemsOf(parsed.error)}`, {
    retry: false,
  })
}

function badInput(tool: string, why: string): TroupeError {
  return new TroupeError('invalid_tool_input', `the arguments of ${tool} do not fit: ${why}`, {
    hint: 'correct the arguments and call it again; a second misfit ends the session',
  })
}

function answered(site: CallSite, pre: ToolPre, result: PatternResult, recovered = false): Event {
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
      ...about(site, pre),
      status: 'ok',
      output,
      ...(result.files ? { files: result.files } : undefined),
      ...(cut > 0 ? { truncated: cut } : undefined),
      ...(recovered ? { recovered } : undefined),
      ...(result.started ? { started: result.started } : undefined),
      ...(result.collected ? { collected: result.collected } : undefined),
    },
    site.session.id,
  )
}

type About = Partial<ToolPre> & { tool: string; tool_call_id: string }

function failed(site: CallSite, pre: About, thrown: unknown, result?: ToolResult): Event {
  const error = brief(asTroupeError(thrown, 'tool_failed'))
  return site.x.journal.append(
    'tool:error',
    {
      ...about(site, pre),
      error: error.message,
      detail: error.toJSON(),
      ...(result?.output === undefined ? undefined : { output: bounded(result.output).output }),
      ...(result?.files ? { files: result.files } : undefined),
    },
    site.session.id,
  )
}

function about(site: CallSite, pre: About) {
  const { tool, tool_call_id, agent, sub_session_id, parent_session_id } = pre
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
  return { output: text.slice(0, MAX_OUTPUT_CHARS) + notice, cut }
}
