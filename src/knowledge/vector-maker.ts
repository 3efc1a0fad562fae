import { toTroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'

/** Makes vectors, or none when there is no embedder or it fails: words are compared instead. */
export interface VectorMaker {
  id: string | null
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[] | undefined>
  problem(): string | undefined
}

export function createVectorMaker(embedder: Embedder | undefined): VectorMaker {
  let problem = embedder ? undefined : 'there is no embedder (`embedder: false`)'
  return {
    id: embedder?.id ?? null,
    async embed(texts, signal) {
      if (!embedder || texts.length === 0) return undefined
      try {
        const vectors = await embedder.embed(texts, signal)
        problem = undefined
        return vectors
      } catch (thrown) {
        const error = toTroupeError(thrown)
        if (signal?.aborted || error.code === 'cancelled') throw thrown
        problem = error.message
        return undefined
      }
    },
    problem: () => problem,
  }
}
