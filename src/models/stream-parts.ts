import type {
  LanguageModelV2StreamPart,
  LanguageModelV3StreamPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { TroupeError } from '../errors.ts'
import type { ModelChunk, ModelStop, Usage } from '../kernel/model.ts'
import type { ProviderMetadata } from './provider-metadata.ts'
import { ThinkTagReader } from './think-tags.ts'
import type { ToolNameMap } from './tool-name-map.ts'

export type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type ToolCallStreamPart = Extract<StreamPart, { type: 'tool-call' }>

/** Converts the stream parts of one response. Unknown part types are skipped, because providers keep adding new ones. */
export class StreamPartReader {
  readonly #model: string
  readonly #toolNames: ToolNameMap
  readonly #reasoningMetadata = new Map<string, SharedV4ProviderMetadata>()
  readonly #thinkTags = new ThinkTagReader()
  #toolCallCount = 0
  #finish: FinishPart | undefined

  constructor(model: string, toolNames: ToolNameMap) {
    this.#model = model
    this.#toolNames = toolNames
  }

  /** True when the provider has reported the end of the response. */
  get isComplete(): boolean {
    return this.#finish !== undefined && toStopReason(this.#finish) !== 'interrupted'
  }

  read(part: StreamPart): readonly ModelChunk[] {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? [] : this.#thinkTags.read(part.delta)
      case 'text-end':
        return this.#thinkTags.end()
      case 'reasoning-start':
        this.#addReasoningMetadata(part.id, part.providerMetadata)
        return []
      case 'reasoning-delta':
        this.#addReasoningMetadata(part.id, part.providerMetadata ?? {})
        return part.delta === '' ? [] : [{ type: 'reasoning', text: part.delta }]
      case 'reasoning-end':
        this.#addReasoningMetadata(part.id, part.providerMetadata)
        return this.#reasoningEnd(part.id)
      case 'tool-call':
        return part.providerExecuted ? [] : [this.#toolCall(part)]
      case 'finish':
        this.#finish = part
        return this.#thinkTags.end()
      case 'error':
        throw part.error
      default:
        return []
    }
  }

  /** The finish chunk; `undefined` when the stream was interrupted. */
  finish(): ModelChunk | undefined {
    const part = this.#finish
    if (!part) return undefined
    const stop = toStopReason(part)
    if (stop === 'interrupted') return undefined
    const usage = toUsage(part.usage)
    if (stop === 'error') throw finishError(this.#model, part, usage)
    const hasToolCalls = this.#toolCallCount > 0 && (stop === 'end' || stop === 'other')
    return { type: 'finish', stop: hasToolCalls ? 'tool_calls' : stop, ...(usage ? { usage } : undefined) }
  }

  /** Providers send the signature of a reasoning block with its start, a delta or its end. */
  #addReasoningMetadata(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    if (!metadata) return
    const known = this.#reasoningMetadata.get(id) ?? {}
    for (const [provider, fields] of Object.entries(metadata)) known[provider] = { ...known[provider], ...fields }
    this.#reasoningMetadata.set(id, known)
  }

  /** Ends a reasoning block with an empty chunk that carries its metadata. */
  #reasoningEnd(id: string): ModelChunk[] {
    const metadata = this.#reasoningMetadata.get(id)
    return metadata ? [{ type: 'reasoning', text: '', provider: this.#withModel(metadata) }] : []
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

const STOP_REASONS: Readonly<Record<string, ModelStop | 'interrupted' | 'error'>> = {
  stop: 'end',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'refusal',
  error: 'error',
  // The connection closed cleanly, but the final event of the protocol is missing.
  interrupted: 'interrupted',
  unknown: 'interrupted',
}

function toStopReason({ finishReason }: FinishPart): ModelStop | 'interrupted' | 'error' {
  const reason = typeof finishReason === 'string' ? finishReason : finishReason.unified
  return STOP_REASONS[reason] ?? 'other'
}

function finishError(model: string, { finishReason }: FinishPart, usage: Usage | undefined): TroupeError {
  const reason = typeof finishReason === 'string' ? finishReason : (finishReason.raw ?? finishReason.unified)
  const error = new TroupeError('model_invalid_response', `${model} ended its response with ${reason}`, {
    hint: 'the provider could not parse the output of the model: retry with `troupe resume RUN`, or choose another `model`',
  })
  return Object.assign(error, usage ? { usage } : undefined)
}

/** Usage with cached tokens included in `input` and reasoning in `output`; `undefined` when the provider reports none. */
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
