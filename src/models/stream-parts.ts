import type {
  LanguageModelV2StreamPart,
  LanguageModelV3StreamPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { TroupeError } from '../errors.ts'
import type { ModelChunk, ModelStop, Usage } from '../kernel/model.ts'
import type { ProviderMetadata } from './provider-metadata.ts'
import type { ToolNameMap } from './tool-name-map.ts'

export type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type ToolCallStreamPart = Extract<StreamPart, { type: 'tool-call' }>

/** Reads the parts of one answer. What it does not know is passed over: providers add kinds of parts as they go. */
export class StreamPartReader {
  readonly #model: string
  readonly #toolNames: ToolNameMap
  readonly #reasoningMetadata = new Map<string, SharedV4ProviderMetadata>()
  #toolCallCount = 0
  #finish: FinishPart | undefined

  constructor(model: string, names: ToolNameMap) {
    this.#model = model
    this.#toolNames = names
  }

  /** Whether the provider said that the answer is complete. */
  get isComplete(): boolean {
    return this.#finish !== undefined && toStopReason(this.#finish) !== 'cut'
  }

  read(part: StreamPart): ModelChunk | undefined {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? undefined : { type: 'text', text: part.delta }
      case 'reasoning-start':
        this.#addReasoningMetadata(part.id, part.providerMetadata)
        return undefined
      case 'reasoning-delta':
        this.#addReasoningMetadata(part.id, part.providerMetadata ?? {})
        return part.delta === '' ? undefined : { type: 'reasoning', text: part.delta }
      case 'reasoning-end':
        this.#addReasoningMetadata(part.id, part.providerMetadata)
        return this.#reasoningEnd(part.id)
      case 'tool-call':
        return part.providerExecuted ? undefined : this.#toolCall(part)
      case 'finish':
        this.#finish = part
        return undefined
      case 'error':
        throw part.error
      default:
        return undefined
    }
  }

  /** The last chunk; nothing when the stream was cut. */
  finish(): ModelChunk | undefined {
    const part = this.#finish
    if (!part) return undefined
    const stop = toStopReason(part)
    if (stop === 'cut') return undefined
    const usage = toUsage(part.usage)
    if (stop === 'error') throw finishError(this.#model, part, usage)
    const calling = this.#toolCallCount > 0 && (stop === 'end' || stop === 'other')
    return { type: 'finish', stop: calling ? 'tool_calls' : stop, ...(usage ? { usage } : undefined) }
  }

  /** A block's signature comes in pieces: some with its start, some with a delta, some with its end. */
  #addReasoningMetadata(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    if (!metadata) return
    const known = this.#reasoningMetadata.get(id) ?? {}
    for (const [provider, facts] of Object.entries(metadata)) known[provider] = { ...known[provider], ...facts }
    this.#reasoningMetadata.set(id, known)
  }

  /** Closes a block of reasoning: its words are out, this carries what goes back with them. */
  #reasoningEnd(id: string): ModelChunk | undefined {
    const metadata = this.#reasoningMetadata.get(id)
    return metadata && { type: 'reasoning', text: '', provider: this.#withModel(metadata) }
  }

  #withModel(metadata: SharedV4ProviderMetadata): ProviderMetadata {
    return { model: this.#model, ...(Object.keys(metadata).length > 0 ? { metadata } : undefined) }
  }

  #toolCall(part: ToolCallStreamPart): ModelChunk {
    this.#toolCallCount += 1
    const { providerMetadata } = part
    const call = {
      type: 'tool-call' as const,
      id: part.toolCallId,
      name: this.#toolNames.fromWire(part.toolName),
      ...(providerMetadata ? { provider: this.#withModel(providerMetadata) } : undefined),
    }
    try {
      return { ...call, input: part.input.trim() === '' ? {} : (JSON.parse(part.input) as unknown) }
    } catch (error) {
      return { ...call, input: part.input, invalid: `the arguments are not JSON: ${(error as Error).message}` }
    }
  }
}

const STOP_REASONS: Readonly<Record<string, ModelStop | 'cut' | 'error'>> = {
  stop: 'end',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'refusal',
  error: 'error',
  // The provider's connection closed in order, and its protocol's last word is missing.
  interrupted: 'cut',
  unknown: 'cut',
}

function toStopReason({ finishReason }: FinishPart): ModelStop | 'cut' | 'error' {
  const reason = typeof finishReason === 'string' ? finishReason : finishReason.unified
  return STOP_REASONS[reason] ?? 'other'
}

function finishError(model: string, { finishReason }: FinishPart, usage: Usage | undefined): TroupeError {
  const why = typeof finishReason === 'string' ? finishReason : (finishReason.raw ?? finishReason.unified)
  const error = new TroupeError('model_invalid_response', `${model} ended its answer with ${why}`, {
    hint: 'the model wrote something its provider could not read; trying again often helps',
  })
  return Object.assign(error, usage ? { usage } : undefined)
}

/** Input counts what came from the cache, output counts the reasoning. A provider that counted nothing says nothing. */
export function toUsage(reported: FinishPart['usage']): Usage | undefined {
  const { inputTokens, outputTokens } = reported
  if (typeof inputTokens === 'object' && typeof outputTokens === 'object') {
    if (inputTokens.total === undefined || outputTokens.total === undefined) return undefined
    return {
      input: inputTokens.total,
      output: outputTokens.total,
      cache_read: inputTokens.cacheRead ?? 0,
      cache_write: inputTokens.cacheWrite ?? 0,
      reasoning: outputTokens.reasoning ?? 0,
    }
  }
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return undefined
  const { cachedInputTokens, reasoningTokens } = reported as { cachedInputTokens?: number; reasoningTokens?: number }
  return {
    input: inputTokens,
    output: outputTokens,
    cache_read: cachedInputTokens ?? 0,
    cache_write: 0,
    reasoning: reasoningTokens ?? 0,
  }
}
