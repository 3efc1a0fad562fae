import { TroupeError } from '../errors.ts'
import type { Message, ModelChunk, ModelStop, Usage } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { ScriptReply, ScriptRule } from './script.ts'

const CHUNK_CHARACTERS = 24
const MAX_CHUNKS = 64

/** A tool call with its arguments as JSON text, as a model writes them. */
interface PlannedToolCall {
  name: string
  arguments: string
  invalid: string | undefined
}

/** A reply prepared as far as possible without the request. */
export interface PlannedReply {
  mark: string
  delayMs: number
  textChunks: readonly string[]
  toolCalls: readonly PlannedToolCall[]
  /** `undefined` for a stream that is interrupted before its finish. */
  stop: ModelStop | undefined
  failure: { status: number; message: string; path: string } | undefined
  /** Usage given by the rule; `null` is not reported, `undefined` is computed. */
  usage: Usage | null | undefined
  /** Characters of the response. */
  characterCount: number
  /** True when `fillPlaceholders` has session ids to insert. */
  hasPlaceholders: boolean
}

/** The path of a reply in the script, and the settings of its rule. */
export interface ReplyOrigin {
  path: string
  mark: string
  usage?: ScriptRule['usage']
}

export function planReply(reply: ScriptReply, { path, mark, usage }: ReplyOrigin): PlannedReply {
  const fullText = reply.object === undefined ? (reply.text ?? '') : JSON.stringify(reply.object)
  const text = reply.cut ? fullText.slice(0, characterBoundary(fullText, Math.ceil(fullText.length / 2))) : fullText
  const toolCalls = reply.cut ? [] : (reply.toolCalls ?? []).map(planToolCall)
  const characterCount = toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, text.length)
  return {
    mark,
    delayMs: reply.delayMs ?? 0,
    textChunks: splitIntoChunks(text),
    toolCalls,
    stop: reply.cut ? undefined : (reply.stop ?? (toolCalls.length > 0 ? 'tool_calls' : 'end')),
    failure: reply.error && { ...reply.error, path: `${path}.error` },
    usage: reportedUsage(reply, characterCount, usage),
    characterCount,
    hasPlaceholders:
      SESSION_ID_PLACEHOLDER.test(text) || toolCalls.some((call) => SESSION_ID_PLACEHOLDER.test(call.arguments)),
  }
}

const SESSION_ID_PLACEHOLDER = /\{\{session_id:([^{}]+)\}\}/

/** Replaces `{{session_id:AGENT}}` by the agent's latest session id in the tool results of the conversation. */
export function fillPlaceholders(reply: PlannedReply, messages: readonly Message[]): PlannedReply {
  if (!reply.hasPlaceholders) return reply
  const fill = (text: string) =>
    text.replaceAll(new RegExp(SESSION_ID_PLACEHOLDER, 'g'), (_, agent: string) => latestSessionId(agent, messages))
  const toolCalls = reply.toolCalls.map((call) => ({ ...call, arguments: fill(call.arguments) }))
  return { ...reply, toolCalls, textChunks: splitIntoChunks(fill(reply.textChunks.join(''))) }
}

function latestSessionId(agent: string, messages: readonly Message[]): string {
  const name = agent.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '')
  const id = new RegExp(`\\b[0-9a-f]{16}-[0-9a-f]{16}_${name}(?![A-Za-z0-9-])`, 'g')
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
  const found = results.flatMap(({ text }) => text.match(id) ?? []).at(-1)
  if (found !== undefined) return found
  throw new TroupeError(
    'script_miss',
    `{{session_id:${agent}}}: no tool result so far contains a session of '${agent}'`,
    {
      hint: `delegate to '${agent}' in an earlier turn of the same session`,
    },
  )
}

/** Parses the input anew for each request: a tool that mutates its input must not change the script. */
export function toolCallChunk({ name, arguments: text, invalid }: PlannedToolCall, id: string): ModelChunk {
  if (invalid !== undefined) return { type: 'tool-call', id, name, input: text, invalid }
  return { type: 'tool-call', id, name, input: JSON.parse(text) }
}

export function scriptedError(reply: PlannedReply, usage: Usage | undefined): TroupeError | undefined {
  const { failure, mark } = reply
  if (!failure) return undefined
  const { status, message, path } = failure
  const error = new TroupeError('model_failed', `the model returned ${status}: ${message}`, {
    retry: status === 408 || status === 409 || status === 429 || status >= 500,
    hint: `the script sets this failure in ${path}`,
  })
  return Object.assign(error, { status, mark, ...(usage ? { usage } : {}) })
}

function planToolCall({ name, input }: { name: string; input?: unknown }): PlannedToolCall {
  if (typeof input !== 'string') return { name, arguments: JSON.stringify(input), invalid: undefined }
  try {
    JSON.parse(input)
    return { name, arguments: input, invalid: undefined }
  } catch (error) {
    return { name, arguments: input, invalid: `the arguments are not JSON: ${(error as Error).message}` }
  }
}

/** The usage of a rule. Providers do not bill a rejected request, so an error without text has zero usage. */
function reportedUsage(reply: ScriptReply, size: number, usage: ScriptRule['usage']): Usage | null | undefined {
  if (usage) return { ...NO_USAGE, ...usage }
  return usage === undefined && reply.error && size === 0 ? { ...NO_USAGE } : usage
}

/** Splits a text into chunks, preferably after white space. */
function splitIntoChunks(text: string): string[] {
  const size = Math.max(CHUNK_CHARACTERS, Math.ceil(text.length / MAX_CHUNKS))
  const chunks: string[] = []
  let start = 0
  while (text.length - start > size) {
    let end = start + size
    while (end > start && !/\s/.test(text.charAt(end - 1))) end--
    if (end === start) end = characterBoundary(text, start + size)
    chunks.push(text.slice(start, end))
    start = end
  }
  if (start < text.length) chunks.push(text.slice(start))
  return chunks
}

/** Moves a split point past a surrogate pair; half a pair would reach the journal as a replacement character. */
function characterBoundary(text: string, end: number): number {
  const last = text.charCodeAt(end - 1)
  return last >= 0xd800 && last <= 0xdbff ? end + 1 : end
}
