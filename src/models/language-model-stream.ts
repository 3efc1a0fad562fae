import type { ModelRequest } from '../kernel/model.ts'
import { withAbort } from '../kernel/world.ts'
import { toCallOptions } from './call-options.ts'
import { htmlResponseError } from './event-stream-guard.ts'
import type { LanguageModelSource } from './language-model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { toRequestError, toStreamError } from './provider-error.ts'
import type { StreamPart } from './stream-parts.ts'
import { StreamPartReader } from './stream-parts.ts'
import { ToolNameMap } from './tool-name-map.ts'

export interface LanguageModelStream {
  stream: ReadableStream<StreamPart>
  /** Turns the parts of the stream into chunks. */
  parts: StreamPartReader
  toStreamError(thrown: unknown): Error
}

/** Sends the request to the provider. */
export async function openLanguageModelStream(
  source: LanguageModelSource,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<LanguageModelStream> {
  const toolNames = new ToolNameMap(request.tools)
  const context = errorContext(source, request)
  const stream = await openStream(source, { request, toolNames, signal }, context)
  const parts = new StreamPartReader(source.name, toolNames)
  return { stream, parts, toStreamError: (thrown) => toStreamError(thrown, context) }
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
