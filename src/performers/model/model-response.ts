import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Event, EventOf } from '../../kernel/event.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import type {
  AssistantMessage,
  ModelChunk,
  ModelErrorInfo,
  ModelStop,
  RefusedFeature,
  Usage,
} from '../../kernel/model.ts'
import { NO_USAGE, textFrom } from '../../kernel/model.ts'
import type { Delta } from '../../kernel/ports.ts'
import type { RetryAttempt } from '../../kernel/retry-policy.ts'
import { totalTokens } from '../../kernel/spend.ts'

/**
 * Bounds the text of a response by its reserved output. A server that ignores `max_tokens` can stream without end; text that needs
 * fewer tokens than this is not text that anybody reads.
 */
const MAX_CHARS_PER_TOKEN = 64
const MIN_MAX_CHARS = 100_000

export type ModelBegin = EventOf<'model:begin'>['data']

/** The consequence of a failed request: a retry, perhaps without the part that the server refused, or nothing. */
interface NextAttempt {
  retry?: RetryAttempt
  refused?: RefusedFeature
}

export interface ModelResponseScope {
  execution: Execution
  session: { id: string; opening: { agent: { name: string } } }
  modelName: string
}

/** Assembles one model response from its chunks and records it as `model:end` or `model:error`. */
export class ModelResponseBuilder {
  readonly #scope: ModelResponseScope
  readonly #begin: ModelBegin
  readonly #content: AssistantMessage['content'] = []
  readonly #toolCallIds = new Set<string>()
  readonly #maxChars: number
  #offset = 0
  #finish: { stop: ModelStop; usage?: Usage; mark?: string } | undefined

  /** `maxOutput` is the reserved output in tokens. */
  constructor(scope: ModelResponseScope, begin: ModelBegin, maxOutput: number) {
    this.#scope = scope
    this.#begin = begin
    this.#maxChars = Math.max(MIN_MAX_CHARS, maxOutput * MAX_CHARS_PER_TOKEN)
  }

  add(chunk: ModelChunk): Delta | undefined {
    switch (chunk.type) {
      case 'text':
      case 'reasoning': {
        const rest = this.#maxChars - this.#offset
        if (chunk.text.length <= rest) return this.#appendText(chunk)
        this.#finish = { stop: 'length' }
        return this.#appendText({ ...chunk, text: chunk.text.slice(0, rest).toWellFormed() })
      }
      case 'tool-call':
        this.#content.push({ ...chunk, id: this.#uniqueId(chunk.id) })
        return undefined
      case 'finish':
        this.#finish = chunk
        return undefined
      default:
        throw new TroupeError(
          'model_invalid_response',
          `the model sent a chunk of unknown \`type\`: ${JSON.stringify(chunk)}`,
          { hint: 'correct `stream` of the model: its chunks are text, reasoning, tool-call and finish' },
        )
    }
  }

  /** Whether the model has sent more than a server that obeys `max_output` can send: the rest is not read. */
  get isCutOff(): boolean {
    return this.#offset >= this.#maxChars && this.#finish?.stop === 'length'
  }

  /** The text received so far. */
  get text(): string {
    return textFrom({ content: this.#content })
  }

  end(): Event {
    const finish = this.#finish
    if (!finish) {
      throw new TroupeError('stream_interrupted', 'the model response ended before its `finish` chunk', {
        hint: 'repeat the model request with `troupe resume RUN`; the partial response is in the journal',
      })
    }
    // A model in a program may leave fields out; a missing number would make every sum NaN.
    const usage = finish.usage ? { ...NO_USAGE, ...finish.usage } : this.#reservedUsage()
    return this.#scope.execution.journal.append(
      'model:end',
      {
        key: this.#begin.key,
        attempt: this.#begin.attempt,
        message: { role: 'assistant', content: this.#content },
        stop: finish.stop,
        usage,
        usd: this.#usd(usage, !finish.usage),
        ...(finish.usage ? undefined : { estimated: true as const }),
        ...(this.#begin.phase ? { phase: this.#begin.phase } : undefined),
        ...(finish.mark === undefined ? undefined : { mark: finish.mark }),
      },
      this.#scope.session.id,
    )
  }

  /** A call that failed with an HTTP status used nothing; a broken stream may have used its whole reservation. */
  error(thrown: unknown, nextAttempt: (error: TroupeError, info: ModelErrorInfo) => NextAttempt): Event {
    const info = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as ModelErrorInfo
    const error = toTroupeError(thrown, 'model_failed')
    const { retry, refused } = nextAttempt(error, info)
    error.step = this.#begin.key
    const estimated = info.usage === undefined && info.status === undefined && error.code !== 'script_miss'
    const usage = info.usage ?? (estimated ? this.#reservedUsage() : NO_USAGE)
    return this.#scope.execution.journal.append(
      'model:error',
      {
        key: this.#begin.key,
        attempt: this.#begin.attempt,
        error: error.toJSON(),
        partial_text: this.text,
        usage,
        usd: this.#usd(usage, estimated),
        ...(estimated ? { estimated } : undefined),
        ...(info.mark === undefined ? undefined : { mark: info.mark }),
        ...(refused ? { refused } : undefined),
        ...(retry ? { retry } : undefined),
      },
      this.#scope.session.id,
    )
  }

  #appendText(chunk: { type: 'text' | 'reasoning'; text: string; provider?: unknown }): Delta {
    const last = this.#content.at(-1)
    // Text appended to signed reasoning would make its signature invalid.
    if (last?.type === chunk.type && !(last.type === 'reasoning' && last.provider !== undefined)) {
      last.text += chunk.text
      if (last.type === 'reasoning' && chunk.provider !== undefined) last.provider = chunk.provider
    } else this.#content.push({ ...chunk })
    const offset = this.#offset
    this.#offset += chunk.text.length
    const { key, attempt } = this.#begin
    const { execution, session } = this.#scope
    return {
      run_id: execution.run.id,
      session_id: session.id,
      agent: session.opening.agent.name,
      key,
      attempt,
      offset,
      type: chunk.type,
      text: chunk.text,
    }
  }

  /** Results are matched to calls by id, and some models send an id twice or none. */
  #uniqueId(id: string): string {
    let unique = id || 'call'
    for (let n = 2; this.#toolCallIds.has(unique); n++) unique = `${id || 'call'}~${n}`
    this.#toolCallIds.add(unique)
    return unique
  }

  #reservedUsage(): Usage {
    return { ...NO_USAGE, input: this.#begin.reserved.tokens }
  }

  /** Estimated usage costs its reservation; no usage costs nothing. */
  #usd(usage: Usage, estimated: boolean): number | null {
    const { execution, modelName } = this.#scope
    if (totalTokens(usage) === 0) return 0
    const cost = execution.ports.prices.cost(modelName, usage, execution.ports.world.now())
    if (cost === undefined) return null
    return estimated ? this.#begin.reserved.usd : cost
  }
}
