import { errorFromRecord, TroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelRequest } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { Cassette, CassetteEntry } from './cassette.ts'
import { replaceInChunks } from './cassette-chunks.ts'
import { describeMiss } from './cassette-miss.ts'
import type { CassettePorts } from './cassette-record.ts'
import type { SecretFinder } from './cassette-request.ts'
import { createRequestRedactor, fingerprint, idReplacements } from './cassette-request.ts'

/*
 * Replays a cassette instead of calling models.
 * 1. A response is looked up by step key, hash of the whole request and occurrence; there is no fuzzy match.
 * 2. Retries follow the recording, without delays.
 * 3. Every later miss quotes the first one, which is usually the cause.
 */

/** Models that respond from a cassette, without key, network or delay. */
export function replayModels(cassette: Cassette, options: { findSecrets: SecretFinder }): CassettePorts {
  const player = new CassettePlayer(cassette, options.findSecrets)
  return {
    models: { resolve: (name) => player.resolve(name), isConfigured: (name) => player.isRecorded(name) },
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

  constructor(cassette: Cassette, findSecrets: SecretFinder) {
    this.#cassette = cassette
    this.#redactRequest = createRequestRedactor(findSecrets)
    this.#entries = new Map(cassette.entries.map((entry) => [entryKey(entry), entry]))
    this.#retries = new Map(cassette.retries.map((retry) => [entryKey(retry), retry.model]))
  }

  resolve(name: string | undefined): Model {
    const { resolved } = this.#cassette
    const asked = name ?? null
    // The last lookup counts: a model that was missing at first may have been found later.
    const found =
      resolved.findLast((line) => line.asked === asked) ??
      resolved.find((line) => line.name === name) ??
      (name === undefined ? resolved.find((line) => !line.error) : undefined)
    if (!found) throw this.#unknownModelError(name)
    if (found.error) throw errorFromRecord(found.error)
    const { name: resolvedName, limits } = found
    return {
      name: resolvedName,
      ...(limits ? { limits } : undefined),
      stream: (request, signal) => this.#stream(request, signal),
    }
  }

  /** A name that was refused in the recording was never looked up. */
  isRecorded(name: string): boolean {
    return this.#cassette.resolved.some((line) => line.asked === name || line.name === name)
  }

  retryModel(error: TroupeError): string | undefined {
    const entry = this.#failedEntries.get(error)
    return entry && this.#retries.get(entryKey(entry))
  }

  async *#stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    const recorded = this.#redactRequest(request)
    const { hash, ids } = fingerprint(recorded, request.session.run_id)
    const countKey = `${request.key}\n${hash}`
    const n = (this.#counts.get(countKey) ?? 0) + 1
    this.#counts.set(countKey, n)
    const entry = this.#entries.get(entryKey({ key: request.key, hash, n }))
    if (!entry)
      throw this.#missError(describeMiss(this.#cassette, { key: request.key, hash, n, request: recorded, ids }))
    const currentIds = new Map(entry.ids.map((id, index) => [id, ids[index] ?? id]))
    for (const chunk of replaceInChunks(entry.chunks, (text) => idReplacements(text, currentIds))) {
      signal.throwIfAborted()
      yield chunk
    }
    if (entry.aborted !== undefined) await this.#waitForAbort(entry, signal)
    if (!entry.error) return
    const { record, ...info } = entry.error
    const error = Object.assign(errorFromRecord(record), info)
    this.#failedEntries.set(error, entry)
    throw error
  }

  /** A timeout or limit aborts the replay as it aborted the recording; a cancellation does not happen again. */
  async #waitForAbort({ key, aborted }: CassetteEntry, signal: AbortSignal): Promise<void> {
    if (aborted !== 'timeout' && aborted !== 'limit_reached') {
      throw this.#missError(`request '${key}' was aborted during the recording (${aborted}) and has no response`)
    }
    await new Promise<void>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  #missError(problem: string): TroupeError {
    const { name, truncatedLine } = this.#cassette
    const first = this.#firstMiss
    this.#firstMiss ??= problem
    const parts = [
      `${name}: ${problem}`,
      ...(truncatedLine === undefined
        ? []
        : [`line ${truncatedLine} of the cassette is incomplete: the recording was killed`]),
      ...(first === undefined ? [] : [`first miss of this replay: ${first}`]),
    ]
    const error = new TroupeError('cassette_miss', parts.join('\n'), {
      hint: 'undo the change to the request, or record the cassette again with --record',
    })
    return Object.assign(error, { usage: NO_USAGE })
  }

  #unknownModelError(name: string | undefined): TroupeError {
    const known = [...new Set(this.#cassette.resolved.map(({ asked, name: resolved }) => asked ?? resolved))]
    const missing = name === undefined ? 'default model' : `model '${name}'`
    return new TroupeError('cassette_miss', `${this.#cassette.name} has no ${missing}`, {
      alternatives: known,
      hint: known.length > 0 ? `recorded models: ${known.join(', ')}` : 'the cassette has no models; record it again',
    })
  }
}

function entryKey({ key, hash, n }: Pick<CassetteEntry, 'key' | 'hash' | 'n'>): string {
  return `${key}\n${hash}\n${n}`
}
