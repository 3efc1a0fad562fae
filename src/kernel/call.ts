import { TroupeError, unknownName } from '../errors.ts'
import { answered, failed } from './call-answer.ts'
import type { CallSite } from './call-site.ts'
import type { Event, ToolPre } from './event.ts'
import { isEvent } from './event.ts'
import { isFatal } from './fatal.ts'
import type { ToolCallPart } from './model.ts'
import type { PatternTool } from './pattern.ts'
import { permit } from './permit.ts'
import { problemsOf } from './schema.ts'
import type { Tool, ToolCall, ToolResult } from './tool.ts'

/*
 * One tool call of a turn, as a step. Every call is answered, whatever happens to it.
 * 1. What a hook decided is in the journal before the call is made, and is not asked again.
 * 2. An action is on disk as begun before it is made. Begun without an end, it is never repeated: `recover` looks, or
 *    the model is told that nobody knows.
 * 3. An abort is no answer: it is not recorded, and the session ends with its reason.
 */

const DEFAULT_TIMEOUT_MS = 120_000

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
  site.signal.throwIfAborted()
  const tool = find(site, call.name)
  if (call.invalid !== undefined) throw badInput(tool.name, `the arguments are not JSON: ${call.invalid}`)
  const wanted = check(tool, call.input)
  const asked = { tool, input: call.input, parsed: wanted }
  const { input, parsed } = await askHooks(site, asked)
  const context = site.contextFor(site.key)
  const pre: ToolPre = {
    key: site.key,
    tool: tool.name,
    tool_call_id: call.id,
    parallel_group_id: site.group,
    kind: tool.kind,
    category: tool.category,
    input,
    idempotency_key: x.idempotencyKey(site.key),
    ...(input === call.input ? undefined : { asked: call.input }),
    ...(tool.kind === 'pattern' ? tool.pattern.facts?.(context, parsed as never) : undefined),
  }
  if (tool.kind === 'pattern') {
    x.journal.append('tool:pre', pre, session.id)
    return enterPattern(site, tool, pre)
  }
  await permit(site, tool, tool.subject?.(parsed as never))
  return x.effect(async () => {
    if (tool.kind === 'act') await x.beforeAction()
    site.signal.throwIfAborted()
    x.journal.append('tool:pre', pre, session.id)
    await x.journal.committed(tool.kind === 'act' ? 'full' : 'normal')
    await x.holdsLease()
    return answered(site, pre, await execute(site, tool, pre))
  })
}

interface Proposed {
  tool: Callable
  /** As it is recorded: what the model or a hook wrote. */
  input: unknown
  /** As the tool gets it: checked and transformed by its schema. */
  parsed: unknown
}

async function askHooks(site: CallSite, proposed: Proposed): Promise<Proposed> {
  const { x, session } = site
  let { input, parsed } = proposed
  const { tool } = proposed
  for (const hooks of x.ports.hooks) {
    if (!hooks.beforeTool) continue
    const about = { run_id: x.run.id, session_id: session.id, agent: session.open.agent.name, tool: tool.name }
    const verdict = await x.effect(async () => hooks.beforeTool?.({ ...about, input: parsed }))
    if (verdict && 'deny' in verdict) {
      throw new TroupeError('denied', `the call of ${tool.name} was refused: ${verdict.deny}`, {
        hint: 'this is final for this call; do not repeat it unchanged',
      })
    }
    if (verdict) {
      input = verdict.input
      parsed = changed(tool, input)
    }
  }
  return { tool, input, parsed }
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
      found = await recover.call(tool, parsedInput(tool, pre) as never, callFacts(site, pre, site))
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
  const result = await tool.pattern.execute(site.contextFor(site.key), parsedInput(tool, pre) as never)
  // What failed with us is no answer: recorded, it would keep a resumed run from going on below.
  if (site.signal.aborted && !result?.success) throw site.signal.reason
  return answered(site, pre, result)
}

/** Carries the call out, until it ends, its time is up, or the session is stopped. */
async function execute(site: CallSite, tool: Tool, pre: ToolPre): Promise<ToolResult> {
  const { signal } = site
  // The run may have been cancelled while the begin was being written.
  signal.throwIfAborted()
  const stopping = new Stopping()
  const made = tool.execute(parsedInput(tool, pre) as never, callFacts(site, pre, stopping))
  if (!(made instanceof Promise)) return made
  const { promise, resolve, reject } = Promise.withResolvers<ToolResult>()
  const stop = (reason: unknown) => {
    stopping.stop(reason)
    reject(reason)
  }
  const aborted = () => stop(signal.reason)
  const limit = tool.timeout_ms ?? DEFAULT_TIMEOUT_MS
  const cancel = site.x.ports.world.after(limit, () => stop(timedOut(tool, limit)))
  signal.addEventListener('abort', aborted, { once: true })
  try {
    made.then(resolve, reject)
    return await promise
  } finally {
    cancel()
    signal.removeEventListener('abort', aborted)
  }
}

/** A tool's signal, made when it is looked at: most tools never do, and making one costs more than a small call. */
class Stopping {
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

function timedOut(tool: Tool, limit: number): TroupeError {
  return new TroupeError('tool_timeout', `${tool.name} did not answer within ${limit} ms`, {
    hint: tool.kind === 'act' ? 'it may have taken effect; check before you call it again' : 'try a smaller request',
  })
}

function callFacts(site: CallSite, pre: ToolPre, stopping: { signal: AbortSignal }): ToolCall {
  return {
    run_id: site.x.run.id,
    session_id: site.session.id,
    agent: site.session.open.agent.name,
    tool_call_id: pre.tool_call_id,
    idempotency_key: pre.idempotency_key,
    get signal() {
      return stopping.signal
    },
  }
}

function find(site: CallSite, name: string): Callable {
  const { x, session } = site
  const granted = session.open.tools
  const tool = x.ports.tools.get(name) ?? x.ports.patternTools.get(name)
  if (!tool || !granted.includes(tool.name)) throw unknownName('unknown_tool', 'tool', name, granted)
  return tool
}

/** The recorded input as the tool gets it: a schema may transform what JSON can hold into what it cannot. */
function parsedInput(tool: Callable, pre: ToolPre): unknown {
  const parsed = tool.input.safeParse(pre.input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `the recorded input of ${tool.name} does not fit: ${problemsOf(parsed.error)}`)
}

function check(tool: Callable, input: unknown): unknown {
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
