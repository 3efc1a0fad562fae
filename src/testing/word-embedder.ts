import { TroupeError } from '../errors.ts'
import type { Embedder } from '../kernel/embedder.ts'

const DIMENSIONS = 256
/** As much of a text as this double takes in. */
const MAX_TEXT_LENGTH = 2000

/** A small double for tests: texts are alike when they have the same words. It knows no meaning and needs no model. */
export function wordEmbedder(): Embedder {
  let closed = false
  return {
    id: 'words',
    threshold: 0.75,
    async embed(texts, signal) {
      signal?.throwIfAborted()
      // As with a real one the answer comes later, and an abort or a close in between is heeded.
      await Promise.resolve()
      signal?.throwIfAborted()
      if (closed) throw new TroupeError('cancelled', 'the embedder was closed', { hint: 'make a new one' })
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
  // Words that hold sentences together would make all of them alike.
  const telling = words.filter((word) => word.length > 3)
  for (const word of telling.length > 0 ? telling : [...words, `no word: ${text.slice(0, MAX_TEXT_LENGTH)}`]) {
    const place = hashWord(word) % DIMENSIONS
    vector[place] = (vector[place] ?? 0) + 1
  }
  const length = Math.hypot(...vector)
  return vector.map((part) => part / length)
}

function hashWord(word: string): number {
  let hash = 2166136261
  for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 16777619)
  return hash >>> 0
}
