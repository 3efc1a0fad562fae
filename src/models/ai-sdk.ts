import { TroupeError } from '../errors.ts'
import type { Model, ModelChunk } from '../kernel/model.ts'
import type { LanguageModel, LanguageModelOptions, LanguageModelSource } from './language-model.ts'

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
    stream: (...call) => streamLanguageModel({ model, name, options }, ...call),
  }
}

/** A model as programs have it: one of Troupe, or of the AI SDK. `option` names its place in an error. */
export function toModel(given: Model | LanguageModel, option: string): Model {
  const { stream, name, doStream, modelId, provider, specificationVersion } = (given ?? {}) as Partial<
    Model & LanguageModel
  >
  if (typeof stream === 'function' && typeof name === 'string') return given as Model
  if (typeof doStream === 'function' && /^v[234]$/.test(specificationVersion ?? ''))
    return fromLanguageModel(given as LanguageModel)
  const isLanguageModel = specificationVersion !== undefined || modelId !== undefined
  const problem = isLanguageModel
    ? `is the model '${provider}/${modelId}', without \`doStream\` of the AI SDK interface version 2, 3 or 4`
    : 'is no model'
  throw new TroupeError('invalid_input', `\`${option}\` ${problem}`, {
    hint: isLanguageModel
      ? 'pass a language model of a provider package of the AI SDK 5 or later, such as anthropic(ID)'
      : 'pass a role, PROVIDER/MODEL, scripted:FILE, a model of the AI SDK, or an object with `name` and `stream`',
  })
}

// A single generator: a nested one would double the cost of every chunk.
async function* streamLanguageModel(
  source: LanguageModelSource,
  ...[request, signal, transport]: Parameters<Model['stream']>
): AsyncGenerator<ModelChunk> {
  if (source.options.reportsSend) transport?.willReportSend()
  // Loaded with the first request: most programs that import the package name their models instead of adapting them.
  const { openLanguageModelStream } = await import('./language-model-stream.ts')
  signal.throwIfAborted()
  const { stream, parts, toStreamError } = await openLanguageModelStream(source, { request, signal, transport })
  const reader = stream.getReader()
  // Some providers ignore the abort signal; cancelling the reader settles the pending read.
  const cancelReader = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', cancelReader, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) throw signal.reason
      if (done) break
      if (value.type === 'tool-input-delta') transport?.onReceive(value.delta.length)
      for (const chunk of parts.read(value)) {
        yield chunk
        if (signal.aborted) throw signal.reason
      }
    }
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    // A connection error after a complete response loses nothing.
    if (!parts.isComplete) throw toStreamError(thrown)
  } finally {
    signal.removeEventListener('abort', cancelReader)
    void reader.cancel().catch(() => {})
  }
  const finish = parts.finish()
  if (finish) yield finish
}
