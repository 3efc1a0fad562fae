import type { VectorCollection, VectorRow, VectorStore } from './store.ts'

/** Vectors in memory. */
export class MemoryVectors implements VectorStore {
  readonly #vectors = new Map<string, Map<string, VectorRow>>()

  async putVectors(
    collection: VectorCollection,
    rows: readonly VectorRow[],
    removed: readonly string[] = [],
  ): Promise<void> {
    const byId = this.#vectorsIn(collection)
    for (const id of removed) byId.delete(id)
    for (const row of rows) byId.set(row.id, structuredClone(row))
  }

  async vectors(collection: VectorCollection, ids?: readonly string[]): Promise<VectorRow[]> {
    const byId = this.#vectorsIn(collection)
    const found = ids ? [...new Set(ids)].flatMap((id) => byId.get(id) ?? []) : [...byId.values()]
    const rows = found.map((row) => structuredClone(row))
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  async deleteVectors(collection: VectorCollection, ids?: readonly string[]): Promise<void> {
    const byId = this.#vectorsIn(collection)
    for (const id of ids ?? [...byId.keys()]) byId.delete(id)
  }

  #vectorsIn({ project, collection }: VectorCollection): Map<string, VectorRow> {
    const key = JSON.stringify([project, collection])
    const found = this.#vectors.get(key) ?? new Map<string, VectorRow>()
    this.#vectors.set(key, found)
    return found
  }
}
