import { TroupeError } from '../errors.ts'
import type { VectorMatch, VectorScope, Vectors } from '../kernel/vectors.ts'
import type { VectorStore } from '../store/store.ts'

const DEFAULT_LIMIT = 10

/** Vectors in the store, searched by comparing all of a collection: exact, and fast enough for some ten thousand. */
export function embeddedVectors(store: VectorStore): Vectors {
  return {
    async add(scope, entries) {
      if (entries.length === 0) return
      const [stored] = await store.vectors(scope)
      const length = stored?.vector.length ?? entries[0]?.vector.length ?? 0
      for (const { id, vector } of entries) checkVector(scope, vector, { id, length })
      await store.putVectors(
        scope,
        entries.map(({ id, vector, data = null }) => ({ id, vector, data })),
      )
    },
    async query(scope, vector, { limit = DEFAULT_LIMIT, minimum = -1 } = {}) {
      const rows = await store.vectors(scope)
      checkVector(scope, vector, { id: 'the query', length: rows[0]?.vector.length ?? vector.length })
      return rows
        .map(({ id, data, vector: other }): VectorMatch => ({ id, data, similarity: cosine(vector, other) }))
        .filter(({ similarity }) => similarity >= minimum)
        .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
        .slice(0, limit)
    },
    delete: (scope, ids) => store.deleteVectors(scope, ids),
  }
}

/** A vector of another model would be compared with nonsense as the result. */
function checkVector(scope: VectorScope, vector: Float32Array, { id, length }: { id: string; length: number }): void {
  if (vector.length === length && length > 0 && vector.every(Number.isFinite)) return
  throw new TroupeError('invalid_input', `\`vector\` of ${id} does not fit the collection '${scope.collection}'`, {
    hint: `use ${length} finite numbers, from the embedding model that the collection was made with`,
  })
}

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, squareA, squareB] = [0, 0, 0]
  for (let index = 0; index < a.length; index++) {
    const [x = 0, y = 0] = [a[index], b[index]]
    dot += x * y
    squareA += x * x
    squareB += y * y
  }
  const length = Math.sqrt(squareA) * Math.sqrt(squareB)
  return length === 0 ? 0 : dot / length
}
