import type {
  LanguageModelV2StreamPart,
  LanguageModelV3StreamPart,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { TroupeError } from '../errors.ts'
import type { ModelChunk, ModelStop, Usage } from '../kernel/model.ts'
import type { Kept } from './kept.ts'
import type { ToolNames } from './tool-names.ts'

export type StreamPart = LanguageModelV4StreamPart | LanguageModelV3StreamPart | LanguageModelV2StreamPart

type FinishPart = Extract<StreamPart, { type: 'finish' }>
type CallPart = Extract<StreamPart, { type: 'tool-call' }>

/** Reads the parts of one answer. What it does not know is passed over: providers add kinds of parts as they go. */
export class PartReader {
  readonly #model: string
  readonly #names: ToolNames
  readonly #thoughts = new Map<string, SharedV4ProviderMetadata>()
  #calls = 0
  #finish: FinishPart | undefined

  constructor(model: string, names: ToolNames) {
    this.#model = model
    this.#names = names
  }

  /** Whether the provider said that the answer is complete. */
  get ended(): boolean {
    return this.#finish !== undefined && stopOf(this.#finish) !== 'cut'
  }

  read(part: StreamPart): ModelChunk | undefined {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? undefined : { type: 'text', text: part.delta }
      case 'reasoning-start':
        this.#think(part.id, part.providerMetadata)
        return undefined
      case 'reasoning-delta':
        this.#think(part.id, part.providerMetadata ?? {})
        return part.delta === '' ? undefined : { type: 'reasoning', text: part.delta }
      case 'reasoning-end':
        this.#think(part.id, part.providerMetadata)
        return this.#thought(part.id)
      case 'tool-call':
        return part.providerExecuted ? undefined : this.#call(part)
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
    const stop = stopOf(part)
    if (stop === 'cut') return undefined
    const usage = usageOf(part.usage)
    if (stop === 'error') throw endedBadly(this.#model, part, usage)
    const calling = this.#calls > 0 && (stop === 'end' || stop === 'other')
    return { type: 'finish', stop: calling ? 'tool_calls' : stop, ...(usage ? { usage } : undefined) }
  }

  /** A block's signature comes in pieces: some with its start, some with a delta, some with its end. */
  #think(id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    if (!metadata) return
    const known = this.#thoughts.get(id) ?? {}
    for (const [provider, facts] of Object.entries(metadata)) known[provider] = { ...known[provider], ...facts }
    this.#thoughts.set(id, known)
  }

  /** Closes a block of reasoning: its words are out, this carries what goes back with them. */
  #thought(id: string): ModelChunk | undefined {
    const metadata = this.#thoughts.get(id)
    return metadata && { type: 'reasoning', text: '', provider: this.#kept(metadata) }
  }

  #kept(metadata: SharedV4ProviderMetadata): Kept {
    return { model: this.#model, ...(Object.keys(metadata).length > 0 ? { metadata } : undefined) }
  }

  #call(part: CallPart): ModelChunk {
    this.#calls += 1
    const { providerMetadata } = part
    const call = {
      type: 'tool-call' as const,
      id: part.toolCallId,
      name: this.#names.fromWire(part.toolName),
      ...(providerMetadata ? { provider: this.#kept(providerMetadata) } : undefined),
    }
    try {
      return { ...call, input: part.input.trim() === '' ? {} : (JSON.parse(part.input) as unknown) }
    } catch (error) {
      return { ...call, input: part.input, invalid: `the arguments are not JSON: ${(error as Error).message}` }
    }
  }
}

const STOPS: Readonly<Record<string, ModelStop | 'cut' | 'error'>> = {
  stop: 'end',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'refusal',
  error: 'error',
  // The provider's connection closed in order, and its protocol's last word is missing.
  interrupted: 'cut',
  unknown: 'cut',
}

function stopOf({ finishReason }: FinishPart): ModelStop | 'cut' | 'error' {
  const reason = typeof finishReason === 'string' ? finishReason : finishReason.unified
  return STOPS[reason] ?? 'other'
}

function endedBadly(model: string, { finishReason }: FinishPart, usage: Usage | undefined): TroupeError {
  const why = typeof finishReason === 'string' ? finishReason : (finishReason.raw ?? finishReason.unified)
  const error = new TroupeError('model_garbage', `${model} ended its answer with ${why}`, {
    hint: 'the model wrote something its provider could not read; trying again often helps',
  })
  return Object.assign(error, usage ? { usage } : undefined)
}

/** Input counts what came from the cache, output counts the reasoning. A provider that counted nothing says nothing. */
export function usageOf(reported: FinishPart['usage']): Usage | undefined {
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
