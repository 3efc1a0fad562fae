import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider'
import type { AssistantMessage, ImagePart, Message, ModelRequest, ToolSpec, UserMessage } from '../kernel/model.ts'
import { toolCallsOf } from '../kernel/model.ts'
import type { JsonSchema } from '../kernel/schema.ts'
import { markForCaching } from './cache-marks.ts'
import { keptFor } from './kept.ts'
import { thinksInDegrees } from './known-models.ts'
import { isStrict } from './strict-schema.ts'
import type { ToolNames } from './tool-names.ts'

export type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>

/** Whom a request is written for. */
export interface Addressee {
  model: { provider: string; modelId: string; specificationVersion: string }
  name: string
  names: ToolNames
  extra?: ProviderOptions | undefined
}

type Prompt = LanguageModelV4Message[]
type JsonSchema7 = LanguageModelV4FunctionTool['inputSchema']
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content']

/** A request in the words of the AI SDK's provider interface: system first, then the conversation. */
export function callOptions(to: Addressee, request: ModelRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { temperature, max_output, effort } = request.settings
  const prompt = promptOf(to, request)
  const silent = request.tools.length === 0
  const tools = (silent ? mentioned(request.messages) : request.tools).map((tool) => toolOf(to, tool))
  if (to.model.provider.includes('anthropic')) markForCaching(prompt, tools)
  const providerOptions = optionsOf(to, request)
  return {
    prompt,
    abortSignal: signal,
    includeRawChunks: false,
    ...(tools.length > 0
      ? { tools, toolChoice: { type: silent || request.settings.tool_choice === 'none' ? 'none' : 'auto' } }
      : undefined),
    ...(temperature === undefined ? undefined : { temperature }),
    ...(effort === undefined || !thinksInDegrees(to.model.modelId) ? undefined : { reasoning: effort }),
    ...(max_output === undefined ? undefined : { maxOutputTokens: max_output }),
    ...(request.output ? { responseFormat: { type: 'json', schema: plain(request.output) } } : undefined),
    ...(Object.keys(providerOptions).length > 0 ? { providerOptions } : undefined),
  }
}

function toolOf({ names }: Addressee, { name, description, input }: ToolSpec): LanguageModelV4FunctionTool {
  return { type: 'function', name: names.toWire(name), description, inputSchema: plain(input) }
}

/**
 * A conversation that holds calls is refused by some providers when no tools come with it: for the last word of an agent
 * that may call no more, its tools are named and forbidden.
 */
function mentioned(messages: readonly Message[]): ToolSpec[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? toolCallsOf(message) : []))
  const names = new Set(calls.map(({ name }) => name))
  return [...names].map((name) => ({ name, description: 'No longer available.', input: ANYTHING }))
}

const ANYTHING: JsonSchema = { type: 'object', properties: {} }

/** `$schema` names a dialect that no provider asks for, and some refuse. */
function plain({ $schema: _, ...schema }: JsonSchema): JsonSchema7 {
  return schema as JsonSchema7
}

function promptOf(to: Addressee, { system, messages }: ModelRequest): Prompt {
  const prompt: Prompt = system === '' ? [] : [{ role: 'system', content: system }]
  for (const message of messages) {
    const mapped = messageOf(to, message)
    if (mapped) prompt.push(mapped)
  }
  return prompt
}

function messageOf(to: Addressee, message: Message): LanguageModelV4Message | undefined {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: userContent(to, message) }
    case 'assistant':
      return assistantMessage(to, message)
    case 'tool':
      return {
        role: 'tool',
        content: message.content.map(({ id, name, text, is_error }) => ({
          type: 'tool-result',
          toolCallId: wireId(id),
          toolName: to.names.toWire(name),
          output: { type: is_error ? 'error-text' : 'text', value: text },
        })),
      }
  }
}

/** Providers refuse empty texts, and messages without any content. */
function userContent(to: Addressee, { content }: UserMessage): UserContent {
  const parts = content
    .filter((part) => part.type !== 'text' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? textPart(part.text) : imagePart(to, part)))
  return parts.length > 0 ? parts : [textPart('(empty)')]
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text }
}

function imagePart({ model }: Addressee, { media_type, data }: ImagePart): UserContent[number] {
  const address = /^https?:\/\//i.test(data) ? new URL(data) : undefined
  const base64 = data.replace(/^data:[^,]*,/, '')
  const tagged = address ? { type: 'url' as const, url: address } : { type: 'data' as const, data: base64 }
  const isOlder = model.specificationVersion === 'v2' || model.specificationVersion === 'v3'
  // Before version 4 the data stood there as it is, without a tag.
  return { type: 'file', mediaType: media_type, data: isOlder ? ((address ?? base64) as never) : tagged }
}

/** Nothing at all for an answer without words and calls: reasoning alone is refused by those who wrote it. */
function assistantMessage(to: Addressee, { content }: AssistantMessage): LanguageModelV4Message | undefined {
  const parts: AssistantContent = []
  for (const part of content) {
    const kept = part.type === 'text' ? undefined : keptFor(to.name, part)
    const provided = kept?.metadata ? { providerOptions: kept.metadata } : undefined
    if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(textPart(part.text))
    } else if (part.type === 'tool-call') {
      const call = { toolCallId: wireId(part.id), toolName: to.names.toWire(part.name), input: argumentsOf(part.input) }
      parts.push({ type: 'tool-call', ...call, ...provided })
    } else if (kept) parts.push({ type: 'reasoning', text: part.text, ...provided })
  }
  return parts.some(({ type }) => type !== 'reasoning') ? { role: 'assistant', content: parts } : undefined
}

/** Providers want an object back, also where the model wrote something else. */
function argumentsOf(input: unknown): unknown {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { raw_arguments: input }
}

/** Another provider's ids may hold what this one refuses. */
function wireId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** Claude models that bind their reasoning to all that stands before it, and refuse a request where that changed. */
const BOUND = /claude-(opus-5-5|sonnet-5-5|fable-5-[12])/

function optionsOf({ model, extra = {} }: Addressee, request: ModelRequest): ProviderOptions {
  const own: ProviderOptions = {}
  // A conversation has to live in the journal alone: what OpenAI stores for us is gone after a month.
  if (model.provider.startsWith('openai') && model.provider.includes('responses')) own.openai = { store: false }
  if (model.provider.includes('anthropic') && BOUND.test(model.modelId)) {
    own.anthropic = { thinking: { blockBinding: { prefixMismatchBehavior: 'drop_block' } } }
  }
  if (request.output) {
    const strictJsonSchema = isStrict(request.output)
    own.openai = { ...own.openai, strictJsonSchema }
    own.openaiCompatible = { strictJsonSchema }
  }
  const keys = new Set([...Object.keys(own), ...Object.keys(extra)])
  return Object.fromEntries([...keys].map((key) => [key, { ...own[key], ...extra[key] }]))
}
