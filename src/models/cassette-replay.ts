import { fromRecord, TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { Cassette, Entry } from './cassette.ts'
import { changedChunks } from './cassette-chunks.ts'
import { describeMiss } from './cassette-miss.ts'
import type { ModelPorts } from './cassette-record.ts'
import type { SecretsIn } from './cassette-request.ts'
import { fingerprint, idsIn, requestTaper } from './cassette-request.ts'

/*
 * Plays a cassette in the place of models.
 * 1. An answer is found by step key, hash of the whole request, and how often that was asked; nothing else is near enough.
 * 2. Whether a failed call is tried again was decided when it was recorded. Nobody waits.
 * 3. After the first miss, every later one says where the first one was: it is the one to look at.
 */

/** Models that answer from a cassette. They need no key, no network and no time. */
export function replaying(cassette: Cassette, options: { secretsIn: SecretsIn }): ModelPorts {
  const player = new Player(cassette, options.secretsIn)
  return {
    models: { resolve: (name) => player.resolve(name) },
    pacing: {
      ready: () => undefined,
      next({ error }) {
        const model = player.retry(error)
        return model === undefined ? undefined : { model, delay_ms: 0 }
      },
    },
  }
}

class Player {
  readonly #cassette: Cassette
  readonly #entries: Map<string, Entry>
  readonly #retries: Map<string, string>
  readonly #taped: ReturnType<typeof requestTaper>
  readonly #counts = new Map<string, number>()
  readonly #played = new WeakMap<TroupeError, Entry>()
  #firstMiss: string | undefined

  constructor(cassette: Cassette, secretsIn: SecretsIn) {
    this.#cassette = cassette
    this.#taped = requestTaper(secretsIn)
    this.#entries = new Map(cassette.entries.map((entry) => [placeOf(entry), entry]))
    this.#retries = new Map(cassette.retries.map((retry) => [placeOf(retry), retry.model]))
  }

  resolve(name: string | undefined): Model {
    const { resolved } = this.#cassette
    const asked = name ?? null
    // A model that was missing at first and there later is played as it was later.
    const found =
      resolved.findLast((line) => line.asked === asked) ??
      resolved.find((line) => line.name === name) ??
      (name === undefined ? resolved.find((line) => !line.error) : undefined)
    if (!found) throw this.#unknownModel(name)
    if (found.error) throw fromRecord(found.error)
    const { name: own, limits } = found
    return {
      name: own,
      ...(limits ? { limits } : undefined),
      stream: (request, signal) => this.#stream(request, signal),
    }
  }

  retry(error: TroupeError): string | undefined {
    const entry = this.#played.get(error)
    return entry && this.#retries.get(placeOf(entry))
  }

  async *#stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    const taped = this.#taped(request)
    const { hash, ids } = fingerprint(taped, request.session.run_id)
    const call = `${request.key}\n${hash}`
    const n = (this.#counts.get(call) ?? 0) + 1
    this.#counts.set(call, n)
    const entry = this.#entries.get(placeOf({ key: request.key, hash, n }))
    if (!entry) throw this.#miss(describeMiss(this.#cassette, { key: request.key, hash, n, request: taped, ids }))
    const now = new Map(entry.ids.map((id, index) => [id, ids[index] ?? id]))
    for (const chunk of changedChunks(entry.chunks, (text) => idsIn(text, now))) {
      signal.throwIfAborted()
      yield chunk
    }
    if (entry.aborted !== undefined) await this.#brokenOff(entry, signal)
    if (!entry.error) return
    const { record, ...facts } = entry.error
    const error = Object.assign(fromRecord(record), facts)
    this.#played.set(error, entry)
    throw error
  }

  /** A time limit will break it off here as it did there; nobody will cancel it a second time. */
  async #brokenOff({ key, aborted }: Entry, signal: AbortSignal): Promise<void> {
    if (aborted !== 'timeout' && aborted !== 'limit_reached') {
      throw this.#miss(`the call '${key}' was broken off when it was recorded (${aborted}): it has no answer`)
    }
    await new Promise<void>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  #miss(words: string): TroupeError {
    const { name, cut } = this.#cassette
    const first = this.#firstMiss
    this.#firstMiss ??= words
    const parts = [
      `${name}: ${words}`,
      ...(cut === undefined ? [] : [`the cassette was cut off in line ${cut}: its recording was killed`]),
      ...(first === undefined ? [] : [`the first miss of this replay: ${first}`]),
    ]
    const error = new TroupeError('cassette_miss', parts.join('\n'), {
      hint: 'undo what changed the request, or record the cassette anew',
    })
    return Object.assign(error, { usage: NO_USAGE })
  }

  #unknownModel(name: string | undefined): TroupeError {
    const known = [...new Set(this.#cassette.resolved.map(({ asked, name: own }) => asked ?? own))]
    return new TroupeError('cassette_miss', `${this.#cassette.name} has no model '${name ?? 'by default'}'`, {
      alternatives: known,
      hint: known.length > 0 ? `recorded were: ${known.join(', ')}` : 'no model was asked for when it was recorded',
    })
  }
}

function placeOf({ key, hash, n }: Pick<Entry, 'key' | 'hash' | 'n'>): string {
  return `${key}\n${hash}\n${n}`
}
