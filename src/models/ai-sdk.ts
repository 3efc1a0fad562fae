import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { withAbort } from '../kernel/world.ts'
import type { ProviderOptions } from './call-options.ts'
import { toCallOptions } from './call-options.ts'
import { htmlResponseError } from './event-stream-guard.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { toRequestError, toStreamError } from './provider-error.ts'
import type { StreamPart } from './stream-parts.ts'
import { StreamPartReader } from './stream-parts.ts'
import { ToolNameMap } from './tool-name-map.ts'

/** A model of any provider package that implements the AI SDK's provider interface, version 2, 3 or 4. */
export type LanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

export interface LanguageModelOptions {
  /** Name of the model in Troupe. Default: `provider/model`. */
  name?: string
  limits?: { context?: number; output?: number }
  /** Sent with every request, keyed by provider, such as `{ anthropic: { effort: 'low' } }`. */
  provider_options?: ProviderOptions
  /** Environment variables that error hints tell the operator to set. */
  variables?: { key?: string; base?: string }
  /** API keys to redact from errors, in case a server echoes them. */
  secrets?: readonly string[]
  now?: () => number
}

/**
 * Adapts an AI SDK language model to the streaming model port.
 *
 * 1. `doStream` is called once per request: retries happen only in the kernel, which counts each attempt.
 * 2. Provider metadata (signatures, encrypted reasoning) goes back only to the model that wrote it.
 * 3. The finish chunk is buffered until the stream has ended, so it is always last and occurs once.
 */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions = {}): Model {
  const name = options.name ?? `${model.provider.split('.')[0]}/${model.modelId}`
  const { limits } = options
  return {
    name,
    ...(limits ? { limits } : undefined),
    stream: (request, signal) => streamLanguageModel({ model, name, options }, request, signal),
  }
}

interface LanguageModelSource {
  model: LanguageModel
  name: string
  options: LanguageModelOptions
}

// A single generator: a nested one would double the cost of every chunk.
async function* streamLanguageModel(
  source: LanguageModelSource,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  signal.throwIfAborted()
  const toolNames = new ToolNameMap(request.tools)
  const context = errorContext(source, request)
  const stream = await openStream(source, { request, toolNames, signal }, context)
  const parts = new StreamPartReader(source.name, toolNames)
  const reader = stream.getReader()
  // Some providers ignore the abort signal; cancelling the reader settles the pending read.
  const cancelReader = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancelReader, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) throw signal.reason
      if (done) break
      const chunk = parts.read(value)
      if (!chunk) continue
      yield chunk
      if (signal.aborted) throw signal.reason
    }
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    // A connection error after a complete response loses nothing.
    if (!parts.isComplete) throw toStreamError(thrown, context)
  } finally {
    signal.removeEventListener('abort', cancelReader)
    void reader.cancel().catch(() => {})
  }
  const finish = parts.finish()
  if (finish) yield finish
}

interface StreamCall {
  request: ModelRequest
  toolNames: ToolNameMap
  signal: AbortSignal
}

async function openStream(
  source: LanguageModelSource,
  { request, toolNames, signal }: StreamCall,
  context: ModelErrorContext,
): Promise<ReadableStream<StreamPart>> {
  const { model, options } = source
  try {
    const call = toCallOptions(
      { model, name: source.name, toolNames, providerOptions: options.provider_options },
      request,
      signal,
    )
    const { stream, response } = await withAbort(Promise.resolve(model.doStream(call as never)), signal)
    const htmlError = htmlResponseError(response?.headers, context)
    if (!htmlError) return stream
    void stream.cancel().catch(() => {})
    throw htmlError
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    throw toRequestError(thrown, context)
  }
}

function errorContext({ name, options }: LanguageModelSource, request: ModelRequest): ModelErrorContext {
  return {
    name,
    variables: options.variables ?? {},
    secrets: options.secrets ?? [],
    tools: request.tools.length > 0,
    images: request.messages.some(
      (message) => message.role === 'user' && message.content.some((part) => part.type === 'image'),
    ),
    now: options.now ?? Date.now,
  }
}
