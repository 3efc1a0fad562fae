import { TroupeError } from '../errors.ts'
import type { FilePart, ModelRequest } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { TransportObserver } from '../kernel/request-progress.ts'
import { withAbort } from '../kernel/world.ts'
import { toCallOptions } from './call-options.ts'
import { htmlResponseError } from './event-stream-guard.ts'
import { isUnsupportedFile } from './known-models.ts'
import type { LanguageModelSource } from './language-model.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { toRequestError, toStreamError } from './provider-error.ts'
import type { StreamPart } from './stream-parts.ts'
import { StreamPartReader } from './stream-parts.ts'
import { ToolNameMap } from './tool-name-map.ts'
import type { ObservedCall } from './transport.ts'
import { observe } from './transport.ts'

export interface LanguageModelStream {
  stream: ReadableStream<StreamPart>
  /** Turns the parts of the stream into chunks. */
  parts: StreamPartReader
  toStreamError(thrown: unknown): Error
}

interface SentRequest {
  request: ModelRequest
  signal: AbortSignal
  transport: TransportObserver | undefined
}

/** Sends the request to the provider. */
export async function openLanguageModelStream(
  source: LanguageModelSource,
  { request, signal, transport }: SentRequest,
): Promise<LanguageModelStream> {
  const { model, name, options } = source
  const toolNames = new ToolNameMap(request.tools)
  const context = errorContext(source, request)
  requireSupportedFiles(source, request)
  const observed: ObservedCall = { observer: transport, name: `${request.session.run_id}.${request.key}` }
  try {
    const target = { model, name, toolNames, providerOptions: options.provider_options }
    const call = toCallOptions(target, request, signal)
    const doStream = () => Promise.resolve(model.doStream(call as never))
    const { stream, response } = await withAbort(observe(observed, doStream), signal)
    const htmlError = htmlResponseError(response?.headers, context)
    const parts = new StreamPartReader(name, toolNames)
    if (!htmlError) return { stream, parts, toStreamError: (thrown) => toStreamError(thrown, context) }
    void stream.cancel().catch(() => {})
    throw htmlError
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    throw toRequestError(thrown, context, observed.head)
  }
}

/** Fails before the request is sent, and paid for, if the model is known not to take a file. */
function requireSupportedFiles({ name, model }: LanguageModelSource, request: ModelRequest): void {
  for (const file of fileParts(request)) {
    if (!isUnsupportedFile(model, file.media_type)) continue
    const message = `the model ${name} does not take ${file.media_type}, the type of ${file.name ?? 'a file'}`
    const error = new TroupeError('model_unsupported', message, {
      hint: 'choose a `model` that takes this type of file, or remove it from `attachments`',
    })
    throw Object.assign(error, { usage: NO_USAGE })
  }
}

function fileParts({ messages }: ModelRequest): FilePart[] {
  return messages.flatMap((message) =>
    message.role === 'user' ? message.content.filter((part) => part.type === 'file') : [],
  )
}

function errorContext({ name, options }: LanguageModelSource, request: ModelRequest): ModelErrorContext {
  return {
    name,
    variables: options.variables ?? {},
    secrets: options.secrets ?? [],
    tools: request.tools.length > 0,
    files: fileParts(request).length > 0,
    result_files: request.messages.some(({ role, content }) => role === 'tool' && content.some(({ files }) => files)),
    output: request.output !== undefined,
    settings: request.settings,
    system: request.system !== '',
    now: options.now ?? Date.now,
  }
}
