import { setTimeout as delay } from 'node:timers/promises'
import type { AssistantMessage, Message, Model, ModelChunk, ModelRequest, Usage } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { World } from '../kernel/world.ts'
import type { Script } from './script.ts'
import { checkScript } from './script.ts'
import { findMatchingRule, scriptMissError, toRuleConditions } from './script-match.ts'
import type { PlannedReply } from './script-reply.ts'
import { fillPlaceholders, planReply, scriptedError, toolCallChunk } from './script-reply.ts'

export type { Script, ScriptReply, ScriptRule } from './script.ts'
export { loadScript, parseScript } from './script.ts'

export interface ScriptedModelOptions {
  name?: string
  /** Clock for `delayMs`. Default: real timers. */
  world?: Pick<World, 'sleep'>
}

/**
 * A model that responds from a script, for tests and offline runs.
 *
 * 1. It is stateless: the response depends only on the request, so a resumed run continues where it stopped.
 * 2. Every response and error carries the mark of the rule that produced it.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): Model {
  const name = options.name ?? 'scripted'
  const { rules, otherwise } = checkScript(script, name)
  const conditions = rules.map(toRuleConditions)
  const replies = rules.map(({ reply, usage }, index) =>
    planReply(reply, { path: `rules[${index}].reply`, mark: `rule:${index}`, usage }),
  )
  const fallback =
    otherwise && otherwise !== 'error' ? planReply(otherwise, { path: 'otherwise', mark: 'otherwise' }) : undefined
  const sleep = options.world ? options.world.sleep.bind(options.world) : realSleep
  const findReply: ScriptPlayer['findReply'] = (request) => {
    const reply = replies[findMatchingRule(conditions, request)] ?? fallback
    if (!reply) throw scriptMissError(name, conditions, request)
    return reply
  }
  return { name, stream: (request, signal) => streamReply({ findReply, sleep }, request, signal) }
}

interface ScriptPlayer {
  findReply: (request: ModelRequest) => PlannedReply
  sleep: World['sleep']
}

// A single generator: a nested one would double the cost of every chunk.
async function* streamReply(
  player: ScriptPlayer,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  signal.throwIfAborted()
  const reply = fillPlaceholders(player.findReply(request), request.messages)
  const { delayMs, textChunks, toolCalls, stop, mark } = reply
  if (delayMs > 0) await player.sleep(delayMs, signal)
  for (const text of textChunks) {
    signal.throwIfAborted()
    yield { type: 'text', text }
  }
  let ordinal = 0
  for (const call of toolCalls) {
    signal.throwIfAborted()
    yield toolCallChunk(call, `call_${request.session.turn}_${ordinal++}`)
  }
  signal.throwIfAborted()
  const usage = reply.usage === undefined ? countUsage(request, reply.characterCount) : (reply.usage ?? undefined)
  const failure = scriptedError(reply, usage)
  if (failure) throw failure
  if (stop) yield usage ? { type: 'finish', stop, usage, mark } : { type: 'finish', stop, mark }
}

async function realSleep(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal ? { signal } : {})
  } catch (error) {
    throw signal?.aborted ? signal.reason : error
  }
}

/** Counts four characters as one token. */
function countUsage(request: ModelRequest, responseCharacters: number): Usage {
  let input = request.system.length
  for (const message of request.messages) input += countCharacters(message)
  return { ...NO_USAGE, input: Math.ceil(input / 4), output: Math.ceil(responseCharacters / 4) }
}

function countCharacters(message: Message): number {
  let sum = 0
  for (const part of message.content) {
    if (part.type === 'tool-call') sum += countToolCallCharacters(part)
    else if (part.type !== 'file') sum += part.text.length
  }
  return sum
}

type ToolCallPart = Extract<AssistantMessage['content'][number], { type: 'tool-call' }>

const toolCallCharacters = new WeakMap<ToolCallPart, number>()

/** Memoised per part; otherwise every turn would serialise the whole conversation. */
function countToolCallCharacters(part: ToolCallPart): number {
  let size = toolCallCharacters.get(part)
  if (size === undefined) {
    size = part.name.length + (JSON.stringify(part.input)?.length ?? 0)
    toolCallCharacters.set(part, size)
  }
  return size
}
