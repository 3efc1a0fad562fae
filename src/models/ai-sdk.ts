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

/** A model of any provider package that speaks the AI SDK's provider interface. */
export type LanguageModel = LanguageModelV4 | LanguageModelV3 | LanguageModelV2

export interface LanguageModelOptions {
  /** What Troupe calls it. Default: the provider's name, a slash, the model's id. */
  name?: string
  limits?: { context?: number; output?: number }
  /** Sent with every call, by provider, such as `{ anthropic: { effort: 'low' } }`. */
  provider_options?: ProviderOptions
  /** Named in errors, so that they say what to set. */
  variables?: { key?: string; base?: string }
  /** Never shown in an error: keys, should a server echo them. */
  secrets?: readonly string[]
  now?: () => number
}

/**
 * Any AI SDK provider as a model.
 *
 * 1. `doStream` is called once for a call: no retry happens below the kernel, which counts each attempt.
 * 2. What a provider wants back unchanged goes back only to the model it came from.
 * 3. A finish is held back until the stream is over, so that it is the last chunk and the only one.
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

// One generator for everything: a nested one would pay for each chunk twice.
async function* streamLanguageModel(
  source: LanguageModelSource,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  signal.throwIfAborted()
  const toolNames = new ToolNameMap(request.tools)
  const site = errorContext(source, request)
  const stream = await openStream(source, { request, toolNames, signal }, site)
  const parts = new StreamPartReader(source.name, toolNames)
  const reader = stream.getReader()
  // A provider may ignore the signal: cancelling wakes the pending read either way.
  const stop = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
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
    // The answer was complete: what went wrong after its end harms nobody.
    if (!parts.isComplete) throw toStreamError(thrown, site)
  } finally {
    signal.removeEventListener('abort', stop)
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
  opening: StreamCall,
  site: ModelErrorContext,
): Promise<ReadableStream<StreamPart>> {
  const { model, options } = source
  const { request, toolNames, signal } = opening
  try {
    const call = toCallOptions(
      { model, name: source.name, toolNames, providerOptions: options.provider_options },
      request,
      signal,
    )
    const { stream, response } = await withAbort(Promise.resolve(model.doStream(call as never)), signal)
    const page = htmlResponseError(response?.headers, site)
    if (!page) return stream
    void stream.cancel().catch(() => {})
    throw page
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    throw toRequestError(thrown, site)
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
