import type { Payload } from './encoding.ts'
import type { Database } from './node-sqlite.ts'

/** Large values by the hash of their content, each once per project. */
export function blobTable(db: Database) {
  const insert = db.prepare(
    'INSERT INTO blobs (project, hash, size, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (project, hash) DO NOTHING',
  )
  const select = db.prepare(
    'SELECT hash, bytes FROM blobs WHERE project = ? AND hash IN (SELECT value FROM json_each(?))',
  )
  return {
    put(project: string, { hash, bytes }: Payload): void {
      insert.run(project, hash, bytes.length, bytes)
    },
    load(project: string, hashes: readonly string[]): Map<string, Uint8Array> {
      const rows = hashes.length === 0 ? [] : select.all(project, JSON.stringify(hashes))
      return new Map(rows.map((row) => [String(row.hash), row.bytes as Uint8Array]))
    },
  }
}

export type BlobTable = ReturnType<typeof blobTable>
