import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'

const DIMENSIONS = 256
/** Longer texts are truncated, like the context window of a real model. */
const MAX_TEXT_LENGTH = 2000

/** Bag-of-words embedder for tests: texts are similar when they share words. Needs no model. */
export function wordEmbedder(): Embedder {
  let closed = false
  return {
    id: 'words',
    threshold: 0.75,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      // Asynchronous like a real embedder, so that an abort or close in between takes effect.
      await Promise.resolve()
      signal?.throwIfAborted()
      if (closed) throw new TroupeError('cancelled', 'the embedder was closed', { hint: 'create a new embedder' })
      return texts.map(toVector)
    },
    async close() {
      closed = true
    },
  }
}

function toVector(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS)
  const words =
    text
      .slice(0, MAX_TEXT_LENGTH)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  // Short words (the, and, of) occur everywhere and would make all texts similar.
  const significant = words.filter((word) => word.length > 3)
  for (const word of significant.length > 0 ? significant : [...words, `no word: ${text.slice(0, MAX_TEXT_LENGTH)}`]) {
    const index = hashWord(word) % DIMENSIONS
    vector[index] = (vector[index] ?? 0) + 1
  }
  const length = Math.hypot(...vector)
  return vector.map((part) => part / length)
}

function hashWord(word: string): number {
  let hash = 2166136261
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 16777619)
  return hash >>> 0
}
