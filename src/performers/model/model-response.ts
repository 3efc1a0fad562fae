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
import type { ReservedBudget } from '../../kernel/model-event.ts'
import type { Delta } from '../../kernel/ports.ts'
import type { RequestProgress, ResponseFacts } from '../../kernel/request-progress.ts'
import type { RetryAttempt } from '../../kernel/retry-policy.ts'
import { chargeableBudget } from '../../kernel/session/lost-model-calls.ts'
import { totalTokens } from '../../kernel/spend.ts'
import { definedFields, isNestedDeeper, MAX_ARGUMENT_DEPTH } from '../../schema/json-value.ts'

/**
 * Bounds the text of a response by its reserved output. A server that ignores `max_tokens` can stream without end; text that needs
 * fewer tokens than this is not text that anybody reads.
 */
const MAX_CHARS_PER_TOKEN = 8
/** Rules of a table and the like need few tokens. */
const MIN_MAX_CHARS = 8000

/** The caller of a failed agent sees its usage: to the millisecond, no replay of a recording would send the same. */
const ESTIMATE_STEP = 1000
const roundUp = (tokens: number) => (tokens === 0 ? 0 : (Math.floor(tokens / ESTIMATE_STEP) + 1) * ESTIMATE_STEP)

interface Charged {
  usage: Usage
  /** `null` if the price is not known. */
  usd: number | null
}

/** Arguments that nothing else could read are recorded as their text, like those that are not JSON. */
function tooDeepArguments({ input, invalid }: ToolCallChunk): Pick<ToolCallChunk, 'input' | 'invalid'> | undefined {
  if (invalid !== undefined || !isNestedDeeper(input, MAX_ARGUMENT_DEPTH)) return undefined
  const problem = `the arguments are nested more than ${MAX_ARGUMENT_DEPTH} levels deep`
  try {
    return { input: JSON.stringify(input), invalid: problem }
  } catch {
    // Even its JSON overflows the stack.
    return { input: '', invalid: problem }
  }
}

type ToolCallChunk = Extract<ModelChunk, { type: 'tool-call' }>

export type ModelBegin = EventOf<'model:begin'>['data']

/** The consequence of a failed request: a retry, perhaps without the part that the server refused, or nothing. */
interface NextAttempt {
  retry?: RetryAttempt
  refused?: RefusedFeature
}

interface BegunRequest {
  begin: ModelBegin
  /** The reserved output in tokens. */
  maxOutput: number
  progress: RequestProgress
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
  readonly #progress: RequestProgress
  #offset = 0
  /** Characters of tool inputs that have not arrived whole. */
  #partialChars = 0
  #isCutOff = false
  #finish: { stop: ModelStop; usage?: Usage; mark?: string } | undefined

  constructor(scope: ModelResponseScope, { begin, maxOutput, progress }: BegunRequest) {
    this.#scope = scope
    this.#begin = begin
    this.#progress = progress
    this.#maxChars = Math.max(MIN_MAX_CHARS, maxOutput * MAX_CHARS_PER_TOKEN)
  }

  add(chunk: ModelChunk): Delta | undefined {
    switch (chunk.type) {
      case 'text':
      case 'reasoning': {
        const rest = Math.max(0, this.#maxChars - this.#offset - this.#partialChars)
        if (chunk.text.length <= rest) return this.#appendText(chunk)
        this.#cutOff()
        return this.#appendText({ ...chunk, text: chunk.text.slice(0, rest).toWellFormed() })
      }
      case 'tool-call':
        this.#content.push({ ...chunk, ...tooDeepArguments(chunk), id: this.#uniqueId(chunk.id) })
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

  /** Counts the characters of a tool's input, whose chunk is added when it is whole. */
  addPartialChunk(chars: number): void {
    this.#partialChars += chars
    if (this.#offset + this.#partialChars > this.#maxChars) this.#cutOff()
  }

  #cutOff(): void {
    this.#isCutOff = true
    this.#finish = { stop: 'length' }
  }

  /** Whether the model has sent more than a server that obeys `max_output` can send: the rest is not read. */
  get isCutOff(): boolean {
    return this.#isCutOff
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
    const reported = finish.usage && checkUsage(finish.usage, this.#begin.reserved)
    const usage = reported?.usage ?? this.#reservedUsage()
    return this.#scope.execution.journal.append(
      'model:end',
      {
        key: this.#begin.key,
        attempt: this.#begin.attempt,
        message: { role: 'assistant', content: this.#content },
        stop: finish.stop,
        usage,
        usd: reported?.usage ? this.#cost(usage) : this.#reservedCost(usage),
        ...(reported?.usage ? undefined : { estimated: true as const }),
        ...(this.#isCutOff ? { cut_off: true as const } : undefined),
        ...definedFields({ refused_usage: reported?.refused, phase: this.#begin.phase, mark: finish.mark }),
        ...responseFacts(this.#progress),
      },
      this.#scope.session.id,
    )
  }

  /** A call that failed with an HTTP status used nothing; a broken stream may have used all input, and output for its time. */
  error(thrown: unknown, nextAttempt: (error: TroupeError, info: ModelErrorInfo) => NextAttempt): Event {
    const info = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as ModelErrorInfo
    const error = toTroupeError(thrown, 'model_failed')
    const { retry, refused } = nextAttempt(error, info)
    error.step = this.#begin.key
    const reported = info.usage && checkUsage(info.usage, this.#begin.reserved)
    const estimated = !reported?.usage && info.status === undefined && error.code !== 'script_miss'
    const { usage, usd } = estimated ? this.#chargeable() : this.#reportedCharge(reported?.usage ?? NO_USAGE)
    return this.#scope.execution.journal.append(
      'model:error',
      {
        key: this.#begin.key,
        attempt: this.#begin.attempt,
        error: error.toJSON(),
        partial_text: this.text,
        usage,
        usd,
        ...(estimated ? { estimated } : undefined),
        ...definedFields({ refused_usage: reported?.refused, mark: info.mark, refused, retry }),
        ...responseFacts(this.#progress),
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

  /** What the provider can have charged for a response that broke off. */
  #chargeable(): Charged {
    const { prices, world } = this.#scope.execution.ports
    const { reserved, max_output = 0 } = this.#begin
    const budget = chargeableBudget(this.#begin, { prices, progress: this.#progress, to: world.now() })
    const input = Math.min(budget.tokens, reserved.tokens - max_output)
    const output = Math.min(max_output, roundUp(budget.tokens - input))
    const usage = { ...NO_USAGE, input, output: Math.max(output, budget.tokens - input) }
    const usd = this.#cost(usage)
    return { usage, usd: usd === null ? null : Math.max(usd, budget.usd) }
  }

  #reportedCharge(usage: Usage): Charged {
    return { usage, usd: this.#cost(usage) }
  }

  /** No usage costs nothing, whatever the price. */
  #cost(usage: Usage): number | null {
    const { execution, modelName } = this.#scope
    if (totalTokens(usage) === 0) return 0
    return execution.ports.prices.cost(modelName, usage, execution.ports.world.now()) ?? null
  }

  #reservedCost(usage: Usage): number | null {
    return this.#cost(usage) === null ? null : this.#begin.reserved.usd
  }
}

function responseFacts({ head, sent_at, received_at }: RequestProgress): { response?: ResponseFacts } {
  if (!head) return {}
  const timed = sent_at !== undefined && received_at !== undefined
  return { response: { ...head, ...(timed ? { first_byte_ms: Math.max(0, received_at - sent_at) } : undefined) } }
}

/** Larger than the context window of any model that is known; a proxy may add to a request, but not this much. */
const MAX_TOKENS = 2_000_000
/** Reserved input is an upper bound for text; files and tools of the provider may exceed it. */
const MAX_TIMES_RESERVED = 10

interface CheckedUsage {
  usage?: Usage
  /** The figures that cannot be true, as text: JSON has no NaN. */
  refused?: string
}

/** Refuses usage that cannot be true: one wrong figure would make every sum of the run NaN, or use up its budget. */
function checkUsage(reported: Usage, { tokens }: ReservedBudget): CheckedUsage {
  // A model in a program may leave fields out.
  const usage = { ...NO_USAGE, ...reported }
  const max = Math.max(MAX_TOKENS, tokens * MAX_TIMES_RESERVED)
  if (Object.values(usage).every((value) => isCount(value, max))) return { usage }
  const wrong = Object.entries(usage).filter(([, value]) => !isCount(value, max))
  return { refused: wrong.map(([name, value]) => `${name}: ${String(value)}`).join(', ') }
}

function isCount(value: unknown, max: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max
}
