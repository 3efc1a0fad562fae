import { toTroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelErrorInfo, Models } from '../kernel/model.ts'
import type { RetryPolicy } from '../kernel/retry-policy.ts'
import { definedFields } from '../schema/json-value.ts'
import type { Cassette, CassetteEntry, CassetteLine, CassetteSink } from './cassette.ts'
import { CASSETTE_HEADER } from './cassette.ts'
import { replaceInChunks } from './cassette-chunks.ts'
import type { SecretFinder } from './cassette-request.ts'
import { createRequestRedactor, fingerprint, redactValue } from './cassette-request.ts'

/*
 * Records every model request of a run.
 * 1. Each request is one line, written when its response ends: a crash loses only the requests in flight.
 * 2. Recording does not change what the run receives.
 * 3. Identical requests are numbered when they start, not when they end, so concurrency cannot swap their responses.
 */

/** The ports that a cassette records and replays. */
export interface CassettePorts {
  models: Models
  retryPolicy: RetryPolicy
}

export interface RecordingOptions {
  findSecrets: SecretFinder
  /** The cassette to append to. */
  existing?: Cassette | undefined
}

/** Wraps the ports so that every model lookup, request and retry is written to the sink. */
export function recordModels(ports: CassettePorts, write: CassetteSink, options: RecordingOptions): CassettePorts {
  const recorder = new CassetteRecorder(write, options)
  return {
    models: recordedModels(recorder, ports.models),
    retryPolicy: {
      ready: (model, signal) => ports.retryPolicy.ready(model, signal),
      next(failed) {
        const next = ports.retryPolicy.next(failed)
        if (next) recorder.recordRetry(failed.error, next.model)
        return next
      },
    },
  }
}

/** Everything else that the models can do is passed on: recording changes neither which models may be named nor which ones stand in. */
function recordedModels(recorder: CassetteRecorder, models: Models): Models {
  const withRoles = models.withRoles?.bind(models)
  return {
    resolve: (name) => recorder.resolve(models, name),
    isConfigured: (name) => models.isConfigured?.(name) !== false,
    fallbacks: (name) => models.fallbacks?.(name) ?? [],
    settings: (model) => models.settings?.(model),
    ...(withRoles && { withRoles: (roles) => recordedModels(recorder, withRoles(roles)) }),
  }
}

class CassetteRecorder {
  readonly #write: CassetteSink
  readonly #findSecrets: SecretFinder
  readonly #redactRequest: ReturnType<typeof createRequestRedactor>
  readonly #counts = new Map<string, number>()
  readonly #resolved = new Set<string | null>()
  readonly #wrapped = new WeakMap<Model, Model>()
  readonly #failed = new WeakMap<object, CassetteEntry>()

  constructor(write: CassetteSink, { findSecrets, existing }: RecordingOptions) {
    this.#write = write
    this.#findSecrets = findSecrets
    this.#redactRequest = createRequestRedactor(findSecrets)
    if (!existing) write(CASSETTE_HEADER)
    for (const { key, hash, n } of existing?.entries ?? []) this.#counts.set(`${key}\n${hash}`, n)
    for (const { asked } of existing?.resolved ?? []) this.#resolved.add(asked)
  }

  resolve(models: Models, name: string | undefined): Model | Promise<Model> {
    try {
      const resolved = models.resolve(name)
      if (!(resolved instanceof Promise)) return this.#recordFound(name, resolved)
      return resolved.then(
        (model) => this.#recordFound(name, model),
        (thrown: unknown) => this.#recordMissing(name, thrown),
      )
    } catch (thrown) {
      return this.#recordMissing(name, thrown)
    }
  }

  recordRetry(error: object, model: string): void {
    const entry = this.#failed.get(error)
    if (entry) this.#writeLine({ retry: { key: entry.key, hash: entry.hash, n: entry.n, model } })
  }

  #recordFound(requestedName: string | undefined, model: Model): Model {
    const { name, limits } = model
    this.#recordResolved(requestedName, { name, ...definedFields({ limits }) })
    let wrapped = this.#wrapped.get(model)
    if (!wrapped) {
      wrapped = { name, ...definedFields({ limits }), stream: (...call) => this.#stream(model, ...call) }
      this.#wrapped.set(model, wrapped)
    }
    return wrapped
  }

  #recordMissing(requestedName: string | undefined, thrown: unknown): never {
    const error = this.#redact(toTroupeError(thrown, 'model_failed').toJSON())
    this.#recordResolved(requestedName, { name: requestedName ?? '', error })
    throw thrown
  }

  #recordResolved(
    requestedName: string | undefined,
    result: Omit<Extract<CassetteLine, { resolved: object }>['resolved'], 'asked'>,
  ): void {
    const asked = requestedName ?? null
    if (this.#resolved.has(asked)) return
    // A failed lookup is not final: the model may be found later in the same run.
    if (!result.error) this.#resolved.add(asked)
    this.#writeLine({ resolved: { asked, ...result } })
  }

  async *#stream(
    model: Model,
    ...[request, signal, transport]: Parameters<Model['stream']>
  ): AsyncGenerator<ModelChunk> {
    const recorded = this.#redactRequest(request)
    const { hash, ids } = fingerprint(recorded, request.session.run_id)
    const countKey = `${request.key}\n${hash}`
    const n = (this.#counts.get(countKey) ?? 0) + 1
    this.#counts.set(countKey, n)
    const entry: CassetteEntry = { key: request.key, hash, n, model: request.model, request: recorded, ids, chunks: [] }
    try {
      for await (const chunk of model.stream(request, signal, transport)) {
        entry.chunks.push(structuredClone(chunk))
        yield chunk
      }
    } catch (thrown) {
      // The retry policy gets a TroupeError: convert here, or `recordRetry` could not find the entry of a foreign error.
      const error = toTroupeError(thrown, 'model_failed')
      if (signal.aborted) entry.aborted = toTroupeError(signal.reason).code
      else entry.error = { record: this.#redact(error.toJSON()), ...errorInfoFrom(thrown) }
      this.#failed.set(error, entry)
      throw error === thrown ? thrown : Object.assign(error, errorInfoFrom(thrown))
    } finally {
      const find = this.#findSecrets
      const chunks = replaceInChunks(entry.chunks, find, (value) => redactValue(value, find))
      this.#writeLine({ ...entry, chunks })
    }
  }

  #redact<T>(value: T): T {
    return redactValue(value, this.#findSecrets) as T
  }

  #writeLine(line: CassetteLine): void {
    this.#write(JSON.stringify(line))
  }
}

function errorInfoFrom(thrown: unknown): ModelErrorInfo {
  const info = (typeof thrown === 'object' && thrown ? thrown : {}) as ModelErrorInfo
  const { status, retry_after_ms, usage, mark, refused } = info
  return definedFields({ status, retry_after_ms, usage, mark, refused })
}
