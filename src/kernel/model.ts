import type { JsonSchema } from '../schema/standard-schema.ts'
import type { TransportObserver } from './request-progress.ts'

/** Token usage of a model request as the provider reported it; an estimate has `estimated` on its event. */
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
  /** Provider data to send back unchanged, such as a signature. */
  provider?: unknown
}

/** An image or a document. */
export interface FilePart {
  type: 'file'
  name?: string
  media_type: string
  /** Base64, or a URL that the provider fetches. */
  data: string
}

export interface ToolCallPart {
  type: 'tool-call'
  id: string
  name: string
  /** Parsed arguments; the raw text if it was not JSON (`invalid` has the reason). */
  input: unknown
  invalid?: string
  /** Provider data to send back unchanged, such as a signature. */
  provider?: unknown
}

export interface ToolResultPart {
  type: 'tool-result'
  id: string
  name: string
  text: string
  is_error: boolean
  /** Images of the result, for models that take them. */
  files?: FilePart[]
}

export interface UserMessage {
  role: 'user'
  content: (TextPart | FilePart)[]
  /** Kept whole by context compaction. */
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

/** Reasoning effort, from least to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/**
 * Whether a model has to call tools. `required` and a named tool apply to the first response to a message: afterwards the model may
 * answer. `none` shows the tools but forbids calling them.
 */
export type ToolChoice = 'auto' | 'required' | 'none' | { tool: string }

/** Options of provider packages, by provider: `{ anthropic: { thinking: { type: 'adaptive' } } }`. */
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Settings of model requests: of one agent, or of all requests to a model. */
export interface SamplingSettings {
  temperature?: number
  top_p?: number
  /** For repeatable responses, where the provider supports it. */
  seed?: number
  tool_choice?: ToolChoice
  /** Sent as they are to the provider that they name. */
  provider_options?: ProviderOptions
}

export interface ModelSettings extends SamplingSettings {
  /** Ignored by models without a reasoning effort. */
  effort?: Effort
  /** Output token cap that the budget granted. */
  max_output?: number
}

export interface ModelRequest {
  /** Step key, unique in the run. */
  key: string
  model: string
  system: string
  messages: readonly Message[]
  tools: readonly ToolSpec[]
  settings: ModelSettings
  /** Schema of the structured output. */
  output?: JsonSchema
  session: SessionInfo
}

/** Identifies the conversation for scripted and recorded models; providers ignore it. */
export interface SessionInfo {
  run_id: string
  session_id: string
  agent: string
  /** Ordinal of this model request in its session, from 1. */
  turn: number
  /** The `mark` of every ended model request of this session, in journal order. */
  marks: readonly string[]
}

export type ModelStop = 'end' | 'tool_calls' | 'length' | 'refusal' | 'other'

export type ModelChunk =
  | TextPart
  | ReasoningPart
  | ToolCallPart
  | { type: 'finish'; stop: ModelStop; usage?: Usage; mark?: string }

/** A part of a request that a server does not accept: it is sent again without it, or with a smaller `max_output`. */
export type RefusedFeature =
  | { feature: 'output' | 'tools' | 'temperature' | 'top_p' | 'seed' | 'tool_choice' | 'effort' | 'system' }
  /** Images in tool results; their text stays. */
  | { feature: 'result_files' }
  | { feature: 'max_output'; max: number }
  /** The context window, and the part of it that the messages take up: the rest is too small for `max_output`. */
  | { feature: 'window'; tokens: number; input: number }

/** Properties of an error thrown by a model, recorded with the failed call. */
export interface ModelErrorInfo {
  /** HTTP status of the provider's error response; such a call used nothing. */
  status?: number
  retry_after_ms?: number
  usage?: Usage
  mark?: string
  refused?: RefusedFeature
}

/**
 * The model port. A stream ends with one `finish` chunk or throws an error, which may have the properties of
 * `ModelErrorInfo`. A stream that stops without either fails with `stream_interrupted`.
 */
export interface Model {
  readonly name: string
  /** Context window and maximum output, if known. Without them only the budget caps the output. */
  readonly limits?: { context?: number; output?: number }
  stream(request: ModelRequest, signal: AbortSignal, transport?: TransportObserver): AsyncIterable<ModelChunk>
}

/** Resolves a model by `provider/model`, role or scheme (`scripted:FILE`). */
export interface Models {
  resolve(name: string | undefined): Model | Promise<Model>
  /**
   * True if the operator configured this name: a role, the model of a role, a custom model, or a known model of a provider that is set up. A
   * model may name only these. Without this function, all names that `resolve` knows.
   */
  isConfigured?(name: string): boolean
  /** Fallback models, in order. */
  fallbacks?(name: string | undefined): readonly string[]
  /** Settings of all requests to a model; those of an agent take precedence. */
  settings?(model: string): SamplingSettings | undefined
  /** The same models with other ones for some roles. */
  withRoles?(models: Readonly<Record<string, string>>): Models
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
