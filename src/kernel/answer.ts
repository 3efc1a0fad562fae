import { asTroupeError, TroupeError } from '../errors.ts'
import type { Event, EventOf } from './event.ts'
import type { Execution } from './execution.ts'
import { tokensOf } from './ledger.ts'
import type { AssistantMessage, ModelChunk, ModelErrorFacts, ModelStop, Usage } from './model.ts'
import { NO_USAGE, textOf } from './model.ts'
import type { NextTry } from './pacing.ts'
import type { Delta } from './ports.ts'

export type Begin = EventOf<'model:begin'>['data']

/** Where an answer belongs. */
export interface AnswerSite {
  x: Execution
  session: { id: string }
  modelName: string
}

/** Puts the pieces of one answer together. */
export class Answer {
  readonly #site: AnswerSite
  readonly #begin: Begin
  readonly #content: AssistantMessage['content'] = []
  readonly #ids = new Set<string>()
  #offset = 0
  #finish: { stop: ModelStop; usage?: Usage; mark?: string } | undefined

  constructor(site: AnswerSite, begin: Begin) {
    this.#site = site
    this.#begin = begin
  }

  add(chunk: ModelChunk): Delta | undefined {
    switch (chunk.type) {
      case 'text':
      case 'reasoning':
        return this.#words(chunk)
      case 'tool-call':
        this.#content.push({ ...chunk, id: this.#unique(chunk.id) })
        return undefined
      case 'finish':
        this.#finish = chunk
        return undefined
      default:
        throw new TroupeError('model_garbage', `the model sent a chunk of unknown type ${JSON.stringify(chunk)}`)
    }
  }

  /** The words that have arrived. */
  get words(): string {
    return textOf({ content: this.#content })
  }

  end(): Event {
    const finish = this.#finish
    if (!finish) {
      throw new TroupeError('stream_cut', 'the answer broke off before its end', {
        hint: 'the part that arrived is kept in the journal; resume the run to ask again',
      })
    }
    const usage = finish.usage ?? this.#reservedUsage()
    return this.#site.x.journal.append(
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
      this.#site.session.id,
    )
  }

  /** An answered refusal (an HTTP status) used nothing; a broken stream may have used all that was reserved. */
  error(thrown: unknown, next: (error: TroupeError, facts: ModelErrorFacts) => NextTry | undefined): Event {
    const facts = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as ModelErrorFacts
    const error = asTroupeError(thrown, 'model_failed')
    const again = next(error, facts)
    error.step = this.#begin.key
    const estimated = facts.usage === undefined && facts.status === undefined && error.code !== 'script_miss'
    const usage = facts.usage ?? (estimated ? this.#reservedUsage() : NO_USAGE)
    return this.#site.x.journal.append(
      'model:error',
      {
        key: this.#begin.key,
        attempt: this.#begin.attempt,
        error: error.toJSON(),
        partial: this.words,
        usage,
        usd: this.#usd(usage, estimated),
        ...(estimated ? { estimated } : undefined),
        ...(facts.mark === undefined ? undefined : { mark: facts.mark }),
        ...(again ? { next: again } : undefined),
      },
      this.#site.session.id,
    )
  }

  #words(chunk: { type: 'text' | 'reasoning'; text: string; provider?: unknown }): Delta {
    const last = this.#content.at(-1)
    // A signed thought is closed: its signature fits no other text.
    if (last?.type === chunk.type && !(last.type === 'reasoning' && last.provider !== undefined)) {
      last.text += chunk.text
      if (last.type === 'reasoning' && chunk.provider !== undefined) last.provider = chunk.provider
    } else this.#content.push({ ...chunk })
    const offset = this.#offset
    this.#offset += chunk.text.length
    const { key, attempt } = this.#begin
    const { x, session } = this.#site
    return { run_id: x.run.id, session_id: session.id, key, attempt, offset, type: chunk.type, text: chunk.text }
  }

  /** Models have sent the same id twice in one message; answers are matched by it. */
  #unique(id: string): string {
    let unique = id || 'call'
    for (let n = 2; this.#ids.has(unique); n++) unique = `${id || 'call'}~${n}`
    this.#ids.add(unique)
    return unique
  }

  #reservedUsage(): Usage {
    return { ...NO_USAGE, input: this.#begin.reserved.tokens }
  }

  /** What is not known to have been used costs what was set aside for it; what used nothing costs nothing. */
  #usd(usage: Usage, estimated: boolean): number | null {
    const { x, modelName } = this.#site
    if (tokensOf(usage) === 0) return 0
    const cost = x.ports.prices.cost(modelName, usage, x.ports.world.now())
    if (cost === undefined) return null
    return estimated ? this.#begin.reserved.usd : cost
  }
}
