import { asTroupeError } from '../errors.ts'
import type { Model, ModelChunk, ModelErrorFacts, ModelRequest, Models } from '../kernel/model.ts'
import type { Pacing } from '../kernel/pacing.ts'
import type { Cassette, CassetteLine, CassetteSink, Entry } from './cassette.ts'
import { HEADER } from './cassette.ts'
import { changedChunks } from './cassette-chunks.ts'
import type { SecretsIn } from './cassette-request.ts'
import { cleanValue, fingerprint, requestTaper } from './cassette-request.ts'

/*
 * Records every model call while it is made.
 * 1. A line is written when its call ends, whole and at once: a crash keeps what was recorded before it.
 * 2. What the run sees is not changed by being recorded.
 * 3. Which of several equal calls it was is counted when it begins, not when it ends.
 */

/** What a run asks models through. */
export interface ModelPorts {
  models: Models
  pacing: Pacing
}

export interface RecordingOptions {
  secretsIn: SecretsIn
  /** What the cassette holds already: recording goes on behind it. */
  before?: Cassette | undefined
}

/** The same ports, with everything that passes through them written to the sink. */
export function recording(on: ModelPorts, write: CassetteSink, options: RecordingOptions): ModelPorts {
  const recorder = new Recorder(write, options)
  return {
    models: { resolve: (name) => recorder.resolve(on.models, name) },
    pacing: {
      ready: (model, signal) => on.pacing.ready(model, signal),
      next(failed) {
        const next = on.pacing.next(failed)
        if (next) recorder.retried(failed.error, next.model)
        return next
      },
    },
  }
}

class Recorder {
  readonly #write: CassetteSink
  readonly #secretsIn: SecretsIn
  readonly #taped: ReturnType<typeof requestTaper>
  readonly #counts = new Map<string, number>()
  readonly #resolved = new Set<string | null>()
  readonly #wrapped = new WeakMap<Model, Model>()
  readonly #failed = new WeakMap<object, Entry>()

  constructor(write: CassetteSink, { secretsIn, before }: RecordingOptions) {
    this.#write = write
    this.#secretsIn = secretsIn
    this.#taped = requestTaper(secretsIn)
    if (!before) write(HEADER)
    for (const { key, hash, n } of before?.entries ?? []) this.#counts.set(`${key}\n${hash}`, n)
    for (const { asked } of before?.resolved ?? []) this.#resolved.add(asked)
  }

  resolve(models: Models, name: string | undefined): Model | Promise<Model> {
    try {
      const found = models.resolve(name)
      if (!(found instanceof Promise)) return this.#found(name, found)
      return found.then(
        (model) => this.#found(name, model),
        (thrown: unknown) => this.#notFound(name, thrown),
      )
    } catch (thrown) {
      return this.#notFound(name, thrown)
    }
  }

  retried(error: object, model: string): void {
    const entry = this.#failed.get(error)
    if (entry) this.#line({ retry: { key: entry.key, hash: entry.hash, n: entry.n, model } })
  }

  #found(asked: string | undefined, model: Model): Model {
    const { name, limits } = model
    this.#once(asked, { name, ...(limits ? { limits } : undefined) })
    let wrapped = this.#wrapped.get(model)
    if (!wrapped) {
      wrapped = {
        name,
        ...(limits ? { limits } : undefined),
        stream: (request, signal) => this.#stream(model, request, signal),
      }
      this.#wrapped.set(model, wrapped)
    }
    return wrapped
  }

  #notFound(asked: string | undefined, thrown: unknown): never {
    const error = this.#clean(asTroupeError(thrown, 'model_failed').toJSON())
    this.#once(asked, { name: asked ?? '', error })
    throw thrown
  }

  #once(
    asked: string | undefined,
    found: Omit<Extract<CassetteLine, { resolved: object }>['resolved'], 'asked'>,
  ): void {
    const name = asked ?? null
    if (this.#resolved.has(name)) return
    // A model that was not found may be there later.
    if (!found.error) this.#resolved.add(name)
    this.#line({ resolved: { asked: name, ...found } })
  }

  async *#stream(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelChunk> {
    const taped = this.#taped(request)
    const { hash, ids } = fingerprint(taped, request.session.run_id)
    const call = `${request.key}\n${hash}`
    const n = (this.#counts.get(call) ?? 0) + 1
    this.#counts.set(call, n)
    const entry: Entry = { key: request.key, hash, n, model: request.model, request: taped, ids, chunks: [] }
    try {
      for await (const chunk of model.stream(request, signal)) {
        entry.chunks.push(structuredClone(chunk))
        yield chunk
      }
    } catch (thrown) {
      // The kernel takes the error as it is; a foreign one it makes ours, and only that one can be recognised later.
      const error = asTroupeError(thrown, 'model_failed')
      if (signal.aborted) entry.aborted = asTroupeError(signal.reason).code
      else entry.error = { record: this.#clean(error.toJSON()), ...factsOf(thrown) }
      this.#failed.set(error, entry)
      throw error === thrown ? thrown : Object.assign(error, factsOf(thrown))
    } finally {
      const find = this.#secretsIn
      const chunks = changedChunks(entry.chunks, find, (value) => cleanValue(value, find))
      this.#line({ ...entry, chunks })
    }
  }

  #clean<T>(value: T): T {
    return cleanValue(value, this.#secretsIn) as T
  }

  #line(line: CassetteLine): void {
    this.#write(JSON.stringify(line))
  }
}

function factsOf(thrown: unknown): ModelErrorFacts {
  const { status, retry_after_ms, usage, mark } = (
    typeof thrown === 'object' && thrown ? thrown : {}
  ) as ModelErrorFacts
  return {
    ...(status === undefined ? undefined : { status }),
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
    ...(usage === undefined ? undefined : { usage }),
    ...(mark === undefined ? undefined : { mark }),
  }
}
