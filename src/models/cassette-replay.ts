import { errorFromRecord, TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { Cassette, CassetteEntry } from './cassette.ts'
import { replaceInChunks } from './cassette-chunks.ts'
import { describeMiss } from './cassette-miss.ts'
import type { ModelPorts } from './cassette-record.ts'
import type { SecretFinder } from './cassette-request.ts'
import { createRequestRedactor, fingerprint, idReplacements } from './cassette-request.ts'

/*
 * Plays a cassette in the place of models.
 * 1. An answer is found by step key, hash of the whole request, and how often that was asked; nothing else is near enough.
 * 2. Whether a failed call is tried again was decided when it was recorded. Nobody waits.
 * 3. After the first miss, every later one says where the first one was: it is the one to look at.
 */

/** Models that answer from a cassette. They need no key, no network and no time. */
export function replayModels(cassette: Cassette, options: { findSecrets: SecretFinder }): ModelPorts {
  const player = new CassettePlayer(cassette, options.findSecrets)
  return {
    models: { resolve: (name) => player.resolve(name) },
    retryPolicy: {
      ready: () => undefined,
      next({ error }) {
        const model = player.retryModel(error)
        return model === undefined ? undefined : { model, delay_ms: 0 }
      },
    },
  }
}

class CassettePlayer {
  readonly #cassette: Cassette
  readonly #entries: Map<string, CassetteEntry>
  readonly #retries: Map<string, string>
  readonly #redactRequest: ReturnType<typeof createRequestRedactor>
  readonly #counts = new Map<string, number>()
  readonly #failedEntries = new WeakMap<TroupeError, CassetteEntry>()
  #firstMiss: string | undefined

  constructor(cassette: Cassette, secretsIn: SecretFinder) {
    this.#cassette = cassette
    this.#redactRequest = createRequestRedactor(secretsIn)
    this.#entries = new Map(cassette.entries.map((entry) => [entryKey(entry), entry]))
    this.#retries = new Map(cassette.retries.map((retry) => [entryKey(retry), retry.model]))
  }

  resolve(name: string | undefined): Model {
    const { resolved } = this.#cassette
    const asked = name ?? null
    // A model that was missing at first and there later is played as it was later.
    const found =
      resolved.findLast((line) => line.asked === asked) ??
      resolved.find((line) => line.name === name) ??
      (name === undefined ? resolved.find((line) => !line.error) : undefined)
    if (!found) throw this.#unknownModelError(name)
    if (found.error) throw errorFromRecord(found.error)
    const { name: own, limits } = found
    return {
      name: own,
      ...(limits ? { limits } : undefined),
      stream: (request, signal) => this.#stream(request, signal),
    }
  }

  retryModel(error: TroupeError): string | undefined {
    const entry = this.#failedEntries.get(error)
    return entry && this.#retries.get(entryKey(entry))
  }

  async *#stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    const taped = this.#redactRequest(request)
    const { hash, ids } = fingerprint(taped, request.session.run_id)
    const call = `${request.key}\n${hash}`
    const n = (this.#counts.get(call) ?? 0) + 1
    this.#counts.set(call, n)
    const entry = this.#entries.get(entryKey({ key: request.key, hash, n }))
    if (!entry) throw this.#missError(describeMiss(this.#cassette, { key: request.key, hash, n, request: taped, ids }))
    const now = new Map(entry.ids.map((id, index) => [id, ids[index] ?? id]))
    for (const chunk of replaceInChunks(entry.chunks, (text) => idReplacements(text, now))) {
      signal.throwIfAborted()
      yield chunk
    }
    if (entry.aborted !== undefined) await this.#waitForAbort(entry, signal)
    if (!entry.error) return
    const { record, ...facts } = entry.error
    const error = Object.assign(errorFromRecord(record), facts)
    this.#failedEntries.set(error, entry)
    throw error
  }

  /** A time limit will break it off here as it did there; nobody will cancel it a second time. */
  async #waitForAbort({ key, aborted }: CassetteEntry, signal: AbortSignal): Promise<void> {
    if (aborted !== 'timeout' && aborted !== 'limit_reached') {
      throw this.#missError(`the call '${key}' was broken off when it was recorded (${aborted}): it has no answer`)
    }
    await new Promise<void>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  #missError(words: string): TroupeError {
    const { name, truncatedLine } = this.#cassette
    const first = this.#firstMiss
    this.#firstMiss ??= words
    const parts = [
      `${name}: ${words}`,
      ...(truncatedLine === undefined
        ? []
        : [`the cassette was cut off in line ${truncatedLine}: its recording was killed`]),
      ...(first === undefined ? [] : [`the first miss of this replay: ${first}`]),
    ]
    const error = new TroupeError('cassette_miss', parts.join('\n'), {
      hint: 'undo what changed the request, or record the cassette anew',
    })
    return Object.assign(error, { usage: NO_USAGE })
  }

  #unknownModelError(name: string | undefined): TroupeError {
    const known = [...new Set(this.#cassette.resolved.map(({ asked, name: own }) => asked ?? own))]
    return new TroupeError('cassette_miss', `${this.#cassette.name} has no model '${name ?? 'by default'}'`, {
      alternatives: known,
      hint: known.length > 0 ? `recorded were: ${known.join(', ')}` : 'no model was asked for when it was recorded',
    })
  }
}

function entryKey({ key, hash, n }: Pick<CassetteEntry, 'key' | 'hash' | 'n'>): string {
  return `${key}\n${hash}\n${n}`
}
