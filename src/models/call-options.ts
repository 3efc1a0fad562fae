import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider'
import type {
  AssistantMessage,
  FilePart,
  Message,
  ModelRequest,
  ProviderOptions,
  ToolMessage,
  ToolSpec,
  UserMessage,
} from '../kernel/model.ts'
import { toolCallsFrom } from '../kernel/model.ts'
import { withoutResultFiles } from '../requests/result-files.ts'
import { definedFields, isRecord } from '../schema/json-value.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'
import { isUnsupportedFile, supportsReasoningEffort } from './known-models.ts'
import { providerMetadataFor } from './provider-metadata.ts'
import { ToolNameMap } from './tool-name-map.ts'

type CallProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>

/** The model that a request is converted for. */
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

/** Converts a request to the AI SDK's call options: system prompt first, then the conversation. */
export function toCallOptions(
  target: CallTarget,
  request: ModelRequest,
  signal: AbortSignal,
): LanguageModelV4CallOptions {
  const { temperature, top_p, seed, max_output, effort } = request.settings
  const prompt = toPrompt(target, request)
  const withoutTools = request.tools.length === 0
  const tools = (withoutTools ? toolsFromHistory(request.messages) : request.tools).map((tool) =>
    toFunctionTool(target, tool),
  )
  if (cachesByBreakpoint(target)) addCacheBreakpoints(prompt, tools)
  const providerOptions = providerOptionsFor(target, request)
  return {
    prompt,
    abortSignal: signal,
    includeRawChunks: false,
    ...(tools.length > 0
      ? { tools, toolChoice: withoutTools ? { type: 'none' as const } : toToolChoice(target, request) }
      : undefined),
    ...definedFields({ temperature, topP: top_p, seed, maxOutputTokens: max_output }),
    ...(effort === undefined || !supportsReasoningEffort(target.model.modelId) ? undefined : { reasoning: effort }),
    ...(request.output
      ? { responseFormat: { type: 'json', schema: withoutSchemaDialect(request.output) } }
      : undefined),
    ...(Object.keys(providerOptions).length > 0 ? { providerOptions } : undefined),
  }
}

type ProviderToolChoice = NonNullable<LanguageModelV4CallOptions['toolChoice']>

/** A model that has to call a tool in every turn would never answer: once it has called one, it may. */
function toToolChoice({ toolNames }: CallTarget, { settings, messages, tools }: ModelRequest): ProviderToolChoice {
  const { tool_choice: choice = 'auto' } = settings
  if (choice === 'auto' || choice === 'none') return { type: choice }
  if (messages.at(-1)?.role !== 'user') return { type: 'auto' }
  if (choice === 'required') return { type: 'required' }
  // An agent without the tool, such as one that inherits the setting, may answer.
  if (!tools.some(({ name }) => name === choice.tool)) return { type: 'auto' }
  return { type: 'tool', toolName: toolNames.toWire(choice.tool) }
}

function toFunctionTool(
  { toolNames }: CallTarget,
  { name, description, input }: ToolSpec,
): LanguageModelV4FunctionTool {
  return { type: 'function', name: toolNames.toWire(name), description, inputSchema: withoutSchemaDialect(input) }
}

/**
 * Some providers reject a conversation with tool calls when the request declares no tools. For the final turn of an agent
 * that may call no more tools, the tools of the history are declared with `tool_choice: none`.
 */
function toolsFromHistory(messages: readonly Message[]): ToolSpec[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? toolCallsFrom(message) : []))
  const names = new Set(calls.map(({ name }) => name))
  return [...names].map((name) => ({ name, description: 'No longer available.', input: ANY_OBJECT }))
}

const ANY_OBJECT: JsonSchema = { type: 'object', properties: {} }

/** Removes `$schema`, which some providers reject. */
function withoutSchemaDialect({ $schema: _, ...schema }: JsonSchema): JsonSchema7 {
  return schema as JsonSchema7
}

function toPrompt(target: CallTarget, { system, messages }: ModelRequest): Prompt {
  const prompt: Prompt = system === '' ? [] : [{ role: 'system', content: system }]
  for (const message of messages) {
    for (const mapped of toPromptMessages(target, message)) {
      const last = prompt.at(-1)
      // Many chat templates accept only alternating roles. Claude's provider package joins messages itself, block by block.
      if (mapped.role === 'user' && last?.role === 'user' && !cachesByBreakpoint(target))
        last.content = joinTexts([...last.content, ...mapped.content])
      else prompt.push(mapped)
    }
  }
  return prompt
}

/** Joins neighbouring texts: some servers accept only one text per message. */
function joinTexts(parts: UserContent): UserContent {
  const joined: UserContent = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.type === 'text' && last?.type === 'text')
      joined[joined.length - 1] = textPart(`${last.text}\n\n${part.text}`)
    else joined.push(part)
  }
  return joined
}

/** A conversation as tools of the AI SDK get it. */
export function toModelMessages(messages: readonly Message[]): Prompt {
  const model = { provider: '', modelId: '', specificationVersion: 'v4' }
  const target = { model, name: '', toolNames: new ToolNameMap([]) }
  return messages.flatMap((message) => toPromptMessages(target, message))
}

function toPromptMessages(target: CallTarget, message: Message): LanguageModelV4Message[] {
  switch (message.role) {
    case 'user':
      return [{ role: 'user', content: userContent(target, message) }]
    case 'assistant':
      return assistantMessage(target, message) ?? []
    case 'tool':
      return toolMessages(target, message)
  }
}

/**
 * The results as text, then their images in a message of the user: the chat interface takes no images in a tool message, and every
 * other one takes them here.
 */
function toolMessages(target: CallTarget, { content }: ToolMessage): LanguageModelV4Message[] {
  const isUnsupported = ({ media_type }: FilePart) => isUnsupportedFile(target.model, media_type)
  const results = content.map((part) => withoutResultFiles(part, target.name, isUnsupported))
  const images = results.flatMap(({ name, files = [] }) =>
    files.flatMap((file) => [textPart(`${file.name ?? 'file'} of the result of ${name}:`), filePart(target, file)]),
  )
  const message: LanguageModelV4Message = {
    role: 'tool',
    content: results.map(({ id, name, text, is_error }) => ({
      type: 'tool-result',
      toolCallId: toProviderCallId(id),
      toolName: target.toolNames.toWire(name),
      output: { type: is_error ? 'error-text' : 'text', value: text },
    })),
  }
  return images.length > 0 ? [message, { role: 'user', content: images }] : [message]
}

/** Providers reject empty texts and messages without content. */
function userContent(target: CallTarget, { content }: UserMessage): UserContent {
  const parts = content
    .filter((part) => part.type !== 'text' || part.text.trim() !== '')
    .map((part) => (part.type === 'text' ? textPart(part.text) : filePart(target, part)))
  return parts.length > 0 ? parts : [textPart('(empty)')]
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text }
}

function filePart({ model }: CallTarget, { name, media_type, data }: FilePart): UserContent[number] {
  const url = /^https?:\/\//i.test(data) ? new URL(data) : undefined
  const base64 = data.replace(/^data:[^,]*,/, '')
  const tagged = url ? { type: 'url' as const, url } : { type: 'data' as const, data: base64 }
  const isOlder = model.specificationVersion === 'v2' || model.specificationVersion === 'v3'
  // Versions 2 and 3 of the interface take the URL or the data untagged.
  return {
    type: 'file',
    mediaType: media_type,
    data: isOlder ? ((url ?? base64) as never) : tagged,
    ...(name === undefined ? undefined : { filename: name }),
  }
}

/** Omits a response without text and tool calls: providers reject a message that holds only reasoning. */
function assistantMessage(target: CallTarget, { content }: AssistantMessage): [LanguageModelV4Message] | undefined {
  const parts: AssistantContent = []
  for (const part of content) {
    const provider = part.type === 'text' ? undefined : providerMetadataFor(target.name, part)
    const options = provider?.metadata ? { providerOptions: provider.metadata } : undefined
    if (part.type === 'text') {
      if (part.text.trim() !== '') parts.push(textPart(part.text))
    } else if (part.type === 'tool-call') {
      const call = {
        toolCallId: toProviderCallId(part.id),
        toolName: target.toolNames.toWire(part.name),
        input: toArgumentsObject(part.input),
      }
      parts.push({ type: 'tool-call', ...call, ...options })
    } else if (provider) parts.push({ type: 'reasoning', text: part.text, ...options })
  }
  return parts.some(({ type }) => type !== 'reasoning') ? [{ role: 'assistant', content: parts }] : undefined
}

/** Providers accept only objects as arguments, even when the model itself wrote something else. */
function toArgumentsObject(input: unknown): unknown {
  return isRecord(input) ? input : { raw_arguments: input }
}

/** Call ids of one provider may contain characters that another rejects. */
function toProviderCallId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_')
}

/** Claude models that sign their reasoning together with the prefix and reject a request whose prefix changed. */
const BINDS_REASONING_TO_PREFIX = /claude-(opus-5-5|sonnet-5-5|fable-5-[12])/

function providerOptionsFor(target: CallTarget, request: ModelRequest): CallProviderOptions {
  const { model } = target
  const defaults: CallProviderOptions = {}
  // Conversations live in the journal only: OpenAI deletes stored responses after a month.
  if (model.provider.startsWith('openai') && model.provider.includes('responses')) defaults.openai = { store: false }
  if (model.provider.includes('anthropic') && BINDS_REASONING_TO_PREFIX.test(model.modelId)) {
    defaults.anthropic = { thinking: { blockBinding: { prefixMismatchBehavior: 'drop_block' } } }
  }
  if (request.output) {
    const strictJsonSchema = isStrictSchema(request.output)
    defaults.openai = { ...defaults.openai, strictJsonSchema }
    defaults.openaiCompatible = { strictJsonSchema }
  }
  const layers: ProviderOptions[] = [defaults, target.providerOptions ?? {}, request.settings.provider_options ?? {}]
  const keys = new Set(layers.flatMap(Object.keys))
  return Object.fromEntries([...keys].map((key) => [key, Object.assign({}, ...layers.map((layer) => layer[key]))]))
}

/*
 * Anthropic caches the prefix before each cache breakpoint, at most four, in the order tools, system, messages; nothing else is
 * found again. Breakpoints after the last tool and the system prompt serve every agent that shares them. In a first request the
 * one before the last message serves the agents that share a conversation: their last message is their own. Those at the end of
 * the previous request and of this one serve the next turn of the same session. Other providers cache prefixes automatically.
 */

function cachesByBreakpoint({ model }: CallTarget): boolean {
  return model.provider.includes('anthropic')
}

const CACHE_BREAKPOINT = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Mutates the prompt and tools. A cache write costs 25 % more, so the last message of a single-turn request gets no breakpoint. */
function addCacheBreakpoints(prompt: LanguageModelV4Message[], tools: LanguageModelV4FunctionTool[]): void {
  addCacheBreakpoint(tools.at(-1))
  const [first] = prompt
  if (first?.role === 'system') addCacheBreakpoint(first)
  const conversation = prompt.filter(({ role }) => role !== 'system')
  const lastResponse = conversation.findLastIndex(({ role }) => role === 'assistant')
  const isFirstRequest = lastResponse === -1
  addCacheBreakpoint(isFirstRequest ? conversation.at(-2) : conversation[lastResponse - 1])
  if (tools.length > 0 || !isFirstRequest) addCacheBreakpoint(conversation.at(-1))
}

function addCacheBreakpoint(part: { providerOptions?: object } | undefined): void {
  if (part) part.providerOptions = { ...part.providerOptions, ...CACHE_BREAKPOINT }
}

/**
 * True when OpenAI's strict mode accepts the schema: every object is closed and every property required. Strict mode with
 * any other schema fails the request; without strict mode an invalid output costs at most a repair turn.
 */
function isStrictSchema(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(isStrictSchema)
  if (typeof node !== 'object' || node === null) return true
  const { properties, required, additionalProperties, ...rest } = node as JsonSchema
  if ('propertyNames' in rest || 'patternProperties' in rest || 'allOf' in rest || 'oneOf' in rest) return false
  if (rest.type === 'object' || properties !== undefined) {
    if (additionalProperties !== false) return false
    const names = Object.keys((properties ?? {}) as object)
    const requiredNames = new Set((required ?? []) as string[])
    if (names.length === 0 || !names.every((name) => requiredNames.has(name))) return false
  }
  const { default: defaultValue, const: _const, enum: _enum, examples: _examples, ...nested } = rest
  if (defaultValue !== undefined) return false
  return [...Object.values((properties ?? {}) as object), ...Object.values(nested)].every(isStrictSchema)
}
