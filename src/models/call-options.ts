import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider'
import type { AssistantMessage, ImagePart, Message, ModelRequest, ToolSpec, UserMessage } from '../kernel/model.ts'
import { toolCallsFrom } from '../kernel/model.ts'
import type { JsonSchema } from '../kernel/schema.ts'
import { supportsReasoningEffort } from './known-models.ts'
import { providerMetadataFor } from './provider-metadata.ts'
import type { ToolNameMap } from './tool-name-map.ts'

export type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>

/** Whom a request is written for. */
export interface CallTarget {
  model: { provider: string; modelId: string; specificationVersion: string }
  name: string
  toolNames: ToolNameMap
  providerOptions?: ProviderOptions | undefined
}

type Prompt = LanguageModelV4Message[]
type JsonSchema7 = LanguageModelV4FunctionTool['inputSchema']
type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content']

/** A request in the words of the AI SDK's provider interface: system first, then the conversation. */
export function toCallOptions(to: CallTarget, request: ModelRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { temperature, max_output, effort } = request.settings
  const prompt = toPrompt(to, request)
  const silent = request.tools.length === 0
  const tools = (silent ? toolsFromHistory(request.messages) : request.tools).map((tool) => toFunctionTool(to, tool))
  if (to.model.provider.includes('anthropic')) addCacheBreakpoints(prompt, tools)
  const providerOptions = providerOptionsFor(to, request)
  return {
    prompt,
    abortSignal: signal,
    includeRawChunks: false,
    ...(tools.length > 0
      ? { tools, toolChoice: { type: silent || request.settings.tool_choice === 'none' ? 'none' : 'auto' } }
      : undefined),
    ...(temperature === undefined ? undefined : { temperature }),
    ...(effort === undefined || !supportsReasoningEffort(to.model.modelId) ? undefined : { reasoning: effort }),
    ...(max_output === undefined ? undefined : { maxOutputTokens: max_output }),
    ...(request.output
      ? { responseFormat: { type: 'json', schema: withoutSchemaDialect(request.output) } }
      : undefined),
    ...(Object.keys(providerOptions).length > 0 ? { providerOptions } : undefined),
  }
}

function toFunctionTool(
  { toolNames }: CallTarget,
  { name, description, input }: ToolSpec,
): LanguageModelV4FunctionTool {
  return { type: 'function', name: toolNames.toWire(name), description, inputSchema: withoutSchemaDialect(input) }
}

/**
 * A conversation that holds calls is refused by some providers when no tools come with it: for the last word of an agent
 * that may call no more, its tools are named and forbidden.
 */
function toolsFromHistory(messages: readonly Message[]): ToolSpec[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? toolCallsFrom(message) : []))
  const names = new Set(calls.map(({ name }) => name))
  return [...names].map((name) => ({ name, description: 'No longer available.', input: ANY_OBJECT }))
}

const ANY_OBJECT: JsonSchema = { type: 'object', properties: {} }

/** `$schema` names a dialect that no provider asks for, and some refuse. */
function withoutSchemaDialect({ $schema: _, ...schema }: JsonSchema): JsonSchema7 {
  return schema as JsonSchema7
}

function toPrompt(to: CallTarget, { system, messages }: ModelRequest): Prompt {
  const prompt: Prompt = system === '' ? [] : [{ role: 'system', content: system }]
  for (const message of messages) {
    const mapped = toPromptMessage(to, message)
    if (mapped) prompt.push(mapped)
  }
  return prompt
}

function toPromptMessage(to: CallTarget, message: Message): LanguageModelV4Message | undefined {
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
          toolCallId: toProviderCallId(id),
          toolName: to.toolNames.toWire(name),
          output: { type: is_error ? 'error-text' : 'text', value: text },
        })),
      }
  }
}

/** Providers refuse empty texts, and messages without any content. */
function userContent(to: CallTarget, { content }: UserMessage): UserContent {
  const parts = content
    .filter((part) => part.type !== 'text' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? textPart(part.text) : imagePart(to, part)))
  return parts.length > 0 ? parts : [textPart('(empty)')]
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text }
}

function imagePart({ model }: CallTarget, { media_type, data }: ImagePart): UserContent[number] {
  const address = /^https?:\/\//i.test(data) ? new URL(data) : undefined
  const base64 = data.replace(/^data:[^,]*,/, '')
  const tagged = address ? { type: 'url' as const, url: address } : { type: 'data' as const, data: base64 }
  const isOlder = model.specificationVersion === 'v2' || model.specificationVersion === 'v3'
  // Before version 4 the data stood there as it is, without a tag.
  return { type: 'file', mediaType: media_type, data: isOlder ? ((address ?? base64) as never) : tagged }
}

/** Nothing at all for an answer without words and calls: reasoning alone is refused by those who wrote it. */
function assistantMessage(to: CallTarget, { content }: AssistantMessage): LanguageModelV4Message | undefined {
  const parts: AssistantContent = []
  for (const part of content) {
    const kept = part.type === 'text' ? undefined : providerMetadataFor(to.name, part)
    const provided = kept?.metadata ? { providerOptions: kept.metadata } : undefined
    if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(textPart(part.text))
    } else if (part.type === 'tool-call') {
      const call = {
        toolCallId: toProviderCallId(part.id),
        toolName: to.toolNames.toWire(part.name),
        input: toArgumentsObject(part.input),
      }
      parts.push({ type: 'tool-call', ...call, ...provided })
    } else if (kept) parts.push({ type: 'reasoning', text: part.text, ...provided })
  }
  return parts.some(({ type }) => type !== 'reasoning') ? { role: 'assistant', content: parts } : undefined
}

/** Providers want an object back, also where the model wrote something else. */
function toArgumentsObject(input: unknown): unknown {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { raw_arguments: input }
}

/** Another provider's ids may hold what this one refuses. */
function toProviderCallId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** Claude models that bind their reasoning to all that stands before it, and refuse a request where that changed. */
const BINDS_REASONING_TO_PREFIX = /claude-(opus-5-5|sonnet-5-5|fable-5-[12])/

function providerOptionsFor({ model, providerOptions = {} }: CallTarget, request: ModelRequest): ProviderOptions {
  const own: ProviderOptions = {}
  // A conversation has to live in the journal alone: what OpenAI stores for us is gone after a month.
  if (model.provider.startsWith('openai') && model.provider.includes('responses')) own.openai = { store: false }
  if (model.provider.includes('anthropic') && BINDS_REASONING_TO_PREFIX.test(model.modelId)) {
    own.anthropic = { thinking: { blockBinding: { prefixMismatchBehavior: 'drop_block' } } }
  }
  if (request.output) {
    const strictJsonSchema = isStrictSchema(request.output)
    own.openai = { ...own.openai, strictJsonSchema }
    own.openaiCompatible = { strictJsonSchema }
  }
  const keys = new Set([...Object.keys(own), ...Object.keys(providerOptions)])
  return Object.fromEntries([...keys].map((key) => [key, { ...own[key], ...providerOptions[key] }]))
}

/*
 * Anthropic caches what stands before a mark, four marks at the most, in the order tools, system, messages:
 * the last tool and the system prompt for every agent that shares them, the end of the last request and the end of this
 * one for the next turn of the same session. All other providers cache prefixes by themselves.
 */

const CACHE_BREAKPOINT = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks a request in place. Marked messages cost a quarter more, so a question that ends with its answer gets none. */
function addCacheBreakpoints(prompt: LanguageModelV4Message[], tools: LanguageModelV4FunctionTool[]): void {
  addCacheBreakpoint(tools.at(-1))
  const [first] = prompt
  if (first?.role === 'system') addCacheBreakpoint(first)
  const conversation = prompt.filter(({ role }) => role !== 'system')
  if (tools.length === 0 && conversation.length < 2) return
  addCacheBreakpoint(conversation.at(-1))
  const lastAnswer = conversation.findLastIndex(({ role }) => role === 'assistant')
  if (lastAnswer > 0) addCacheBreakpoint(conversation[lastAnswer - 1])
}

function addCacheBreakpoint(place: { providerOptions?: object } | undefined): void {
  if (place) place.providerOptions = { ...place.providerOptions, ...CACHE_BREAKPOINT }
}

/**
 * Whether OpenAI's strict mode takes a schema: each object closed, each property required. Asking for strictness with
 * any other schema is refused; asking without it costs at most a repair turn.
 */
function isStrictSchema(schema: JsonSchema): boolean {
  return isStrictNode(schema)
}

function isStrictNode(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(isStrictNode)
  if (typeof node !== 'object' || node === null) return true
  const { properties, required, additionalProperties, ...rest } = node as JsonSchema
  if ('propertyNames' in rest || 'patternProperties' in rest || 'allOf' in rest || 'oneOf' in rest) return false
  if (rest.type === 'object' || properties !== undefined) {
    if (additionalProperties !== false) return false
    const names = Object.keys((properties ?? {}) as object)
    const needed = new Set((required ?? []) as string[])
    if (names.length === 0 || !names.every((name) => needed.has(name))) return false
  }
  const { default: hasDefault, const: _const, enum: _enum, examples: _examples, ...deeper } = rest
  if (hasDefault !== undefined) return false
  return Object.values((properties ?? {}) as object).every(isStrictNode) && Object.values(deeper).every(isStrictNode)
}
