import { TroupeError, unknownName } from '../errors.ts'
import type { About } from './call-answer.ts'
import { answered, failed } from './call-answer.ts'
import type { CallSite } from './call-site.ts'
import type { Event, ToolPre } from './event.ts'
import { isEvent } from './event.ts'
import { isFatal } from './fatal.ts'
import type { ToolCallPart } from './model.ts'
import type { PatternTool } from './pattern.ts'
import { permit } from './permit.ts'
import type { Callable } from './proposal.ts'
import { propose } from './proposal.ts'
import { problemsOf } from './schema.ts'
import type { Tool, ToolCall, ToolResult } from './tool.ts'
import { within } from './within.ts'

/*
 * One tool call of a turn, as a step. Every call is answered, whatever happens to it.
 * 1. What a hook decided is in the journal before the call is made, and is not asked again.
 * 2. An action is on disk as begun before it is made. Begun without an end, it is never repeated: `recover` looks, or
 *    the model is told that nobody knows.
 * 3. An abort is no answer: it is not recorded, and the session ends with its reason.
 */

const DEFAULT_TIMEOUT_MS = 120_000

/** Answers one call; returns the event that did. */
export async function callTool(site: CallSite, call: ToolCallPart): Promise<Event> {
  const { x, key } = site
  x.claim(key)
  const settled = x.recorded.settled(key)
  if (settled) return settled
  const begun = x.recorded.opened(key)
  const about: About = { tool: x.ports.patternTools.get(call.name)?.name ?? call.name, tool_call_id: call.id }
  try {
    if (isEvent(begun, 'tool:pre')) return await again(site, Object.assign(about, begun.data))
    return await anew(site, call, about)
  } catch (thrown) {
    if (site.signal.aborted) throw site.signal.reason
    if (thrown instanceof TroupeError && isFatal(thrown)) throw thrown
    return failed(site, about, thrown)
  }
}

/** `about` takes in what becomes known of the call, for whoever has to say that it failed. */
async function anew(site: CallSite, call: ToolCallPart, about: About): Promise<Event> {
  const { x, session } = site
  site.signal.throwIfAborted()
  const { tool, input, parsed } = await propose(site, call)
  const pre: ToolPre = Object.assign(about, {
    key: site.key,
    tool: tool.name,
    tool_call_id: call.id,
    parallel_group_id: site.group,
    kind: tool.kind,
    category: tool.category,
    input,
    idempotency_key: x.idempotencyKey(site.key),
    ...(input === call.input ? undefined : { asked: call.input }),
    ...(tool.kind === 'pattern' ? tool.pattern.facts?.(site.contextFor(site.key), parsed as never) : undefined),
  })
  const subject =
    tool.kind === 'pattern'
      ? tool.pattern.subject?.(parsed as never, site.contextFor(site.key))
      : tool.subject?.(parsed as never)
  const { except } = await permit(site, { tool, input, subject })
  if (tool.kind === 'pattern') {
    x.journal.append('tool:pre', { ...pre }, session.id)
    return enterPattern(site, tool, pre)
  }
  if (subject !== undefined) pre.subject = subject
  if (except) pre.except = except
  return x.effect(async () => {
    if (tool.kind === 'act') await x.beforeAction()
    site.signal.throwIfAborted()
    x.journal.append('tool:pre', { ...pre }, session.id)
    await x.journal.committed(tool.kind === 'act' ? 'full' : 'normal')
    await x.holdsLease()
    return answered(site, pre, await execute(site, tool, pre))
  })
}

/** The call had begun in an earlier execution and has no end. */
async function again(site: CallSite, pre: ToolPre): Promise<Event> {
  const { x, session, signal } = site
  const unknown = new TroupeError('outcome_unknown', `${pre.tool} had begun when the run was interrupted`, {
    hint: 'it may or may not have taken effect, and was not repeated; check before you call it again',
  })
  const tool = x.ports.tools.get(pre.tool) ?? x.ports.patternTools.get(pre.tool)
  if (!tool && pre.kind === 'act') throw unknown
  if (!tool) throw unknownName('unknown_tool', 'tool', pre.tool, session.open.tools)
  if (tool.kind === 'pattern') return enterPattern(site, tool, pre)
  if (pre.kind !== 'act') return x.effect(async () => answered(site, pre, await execute(site, tool, pre)))
  const recover = tool.recover
  if (!recover) throw unknown
  return x.effect(async () => {
    const looking = async () => recover.call(tool, parsedInput(tool, pre) as never, callFacts(site, pre, site))
    const patience = { world: x.ports.world, signal, ms: tool.timeout_ms ?? DEFAULT_TIMEOUT_MS, late: () => unknown }
    const found = await within(patience, looking()).catch(() => {
      signal.throwIfAborted()
      throw unknown
    })
    if (found) return answered(site, pre, found, true)
    await x.beforeAction()
    await x.holdsLease()
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
  const { signal, x } = site
  // The run may have been cancelled while the begin was being written.
  signal.throwIfAborted()
  const stopping = new Stopping()
  const made = tool.execute(parsedInput(tool, pre) as never, callFacts(site, pre, stopping))
  if (!(made instanceof Promise)) return made
  const ms = tool.timeout_ms ?? DEFAULT_TIMEOUT_MS
  const late = () => timedOut(tool, ms)
  return within({ world: x.ports.world, signal, ms, late, stopped: (reason) => stopping.stop(reason) }, made)
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
    ...(pre.subject === undefined ? undefined : { subject: pre.subject }),
    ...(pre.except === undefined ? undefined : { except: pre.except }),
    ...(onlyLooks(site, pre.tool) ? { read_only: true as const } : undefined),
    get signal() {
      return stopping.signal
    },
  }
}

/** True for an agent that can edit nothing and may use this tool only in some ways: then it is not to write by it either. */
function onlyLooks({ x, session }: CallSite, tool: string): boolean {
  const { agent, held = [] } = session.open
  const rules = [...held, agent.permissions ?? {}].flatMap(({ allow = [] }) => allow)
  return (
    rules.some((rule) => rule.startsWith(`${tool}(`)) &&
    !session.open.tools.some((name) => x.ports.tools.get(name)?.edits)
  )
}

/** The recorded input as the tool gets it: a schema may transform what JSON can hold into what it cannot. */
function parsedInput(tool: Callable, pre: ToolPre): unknown {
  const parsed = tool.input.safeParse(pre.input)
  if (parsed.success) return parsed.data
  throw new TroupeError('tool_failed', `the recorded input of ${tool.name} does not fit: ${problemsOf(parsed.error)}`)
}
