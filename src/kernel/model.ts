import type { JsonSchema } from './schema.ts'

/** What a model call used, as the provider reported it. Never guessed; see `estimated` on the event. */
export interface Usage {
  input: number
  output: number
  cache_read: number
  cache_write: number
  reasoning: number
}

export const NO_USAGE: Usage = Object.freeze({ input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0 })

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cache_read: a.cache_read + b.cache_read,
    cache_write: a.cache_write + b.cache_write,
    reasoning: a.reasoning + b.reasoning,
  }
}

export interface TextPart {
  type: 'text'
  text: string
}

export interface ReasoningPart {
  type: 'reasoning'
  text: string
  /** What the provider wants back unchanged, such as a signature. */
  provider?: unknown
}

export interface ImagePart {
  type: 'image'
  media_type: string
  /** Base64, or an address the provider may fetch. */
  data: string
}

export interface ToolCallPart {
  type: 'tool-call'
  id: string
  name: string
  /** Parsed arguments, or the raw text when it was not JSON (then `invalid` says why). */
  input: unknown
  invalid?: string
  /** What the provider wants back unchanged, such as a signature. */
  provider?: unknown
}

export interface ToolResultPart {
  type: 'tool-result'
  id: string
  name: string
  /** What the model reads. */
  text: string
  is_error: boolean
}

export interface UserMessage {
  role: 'user'
  content: (TextPart | ImagePart)[]
  /** Kept whole when the conversation is compressed. */
  pinned?: true
}

export interface AssistantMessage {
  role: 'assistant'
  content: (TextPart | ReasoningPart | ToolCallPart)[]
}

export interface ToolMessage {
  role: 'tool'
  content: ToolResultPart[]
}

export type Message = UserMessage | AssistantMessage | ToolMessage

/** A tool as a model sees it. */
export interface ToolSpec {
  name: string
  description: string
  input: JsonSchema
}

/** How much a model is to think before it answers, from least to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

export interface ModelSettings {
  temperature?: number
  /** Ignored by models that do not think, or not in degrees. */
  effort?: Effort
  /** The cap that the budget leaves for this call. */
  max_output?: number
  /** The tools are shown but must not be called: the agent is to have its last word. */
  tool_choice?: 'none'
}

export interface ModelRequest {
  /** The step key of this call: unique in its run. */
  key: string
  model: string
  system: string
  messages: readonly Message[]
  tools: readonly ToolSpec[]
  settings: ModelSettings
  /** When given, the answer's text is JSON of this shape. */
  output?: JsonSchema
  session: SessionInfo
}

/** What a model double may want to know of the conversation; a provider ignores it. */
export interface SessionInfo {
  run_id: string
  session_id: string
  agent: string
  /** The ordinal of this model call in its session, from 1, counted from the journal. */
  turn: number
  /** `mark` of every earlier call of this session that ended, in journal order. */
  marks: readonly string[]
}

export type ModelStop = 'end' | 'tool_calls' | 'length' | 'refusal' | 'other'

export type ModelChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string; provider?: unknown }
  | { type: 'tool-call'; id: string; name: string; input: unknown; invalid?: string; provider?: unknown }
  | { type: 'finish'; stop: ModelStop; usage?: Usage; mark?: string }

/** What an error thrown by a model may carry beside its message; it is recorded with the failed call. */
export interface ModelErrorInfo {
  /** The HTTP status the provider answered with: a call that was answered with an error used nothing. */
  status?: number
  retry_after_ms?: number
  usage?: Usage
  mark?: string
}

/**
 * The model port. A stream either ends with one `finish` chunk or throws; a stream that just stops was cut, and the
 * kernel says so. An error may carry `mark` and `usage` properties, which are recorded with it.
 */
export interface Model {
  readonly name: string
  /** The window and the largest answer, where known; unknown means the budget alone caps the output. */
  readonly limits?: { context?: number; output?: number }
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelChunk>
}

/** Finds a model by `provider/model`, by role or by scheme (`scripted:FILE`). */
export interface Models {
  resolve(name: string | undefined): Model | Promise<Model>
  /** Models to go to when the named one keeps failing, in order. */
  fallbacks?(name: string | undefined): readonly string[]
}

export function textFrom(message: { content: readonly { type: string }[] } | undefined): string {
  if (!message) return ''
  let text = ''
  for (const part of message.content) if (part.type === 'text') text += (part as TextPart).text
  return text
}

export function toolCallsFrom(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === 'tool-call')
}

export function userMessage(text: string): UserMessage {
  return { role: 'user', content: [{ type: 'text', text }] }
}
