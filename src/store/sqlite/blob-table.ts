import { hash } from 'node:crypto'
import type { Database } from './node-sqlite.ts'

/*
 * Invariants
 * 1. A blob is named by the hash of its content within its project, and its number never changes.
 * 2. Numbers of snapshots are remembered; those given in a transaction that was undone are forgotten.
 */

const MAX_CACHED_SNAPSHOTS = 1000

/** Values that stand apart from their events, each once per project. */
export function blobTable(db: Database) {
  const insert = db.prepare(
    'INSERT INTO blobs (project, hash, size, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (project, hash) DO NOTHING',
  )
  const number = db.prepare('SELECT id FROM blobs WHERE project = ? AND hash = ?')
  const byHash = db.prepare('SELECT bytes FROM blobs WHERE project = ? AND hash = ?')
  const byNumber = db.prepare('SELECT bytes FROM blobs WHERE id = ?')
  const snapshots = new Map<string, number>()
  let fresh: string[] = []

  function put(project: string, hash: string, bytes: Uint8Array): void {
    insert.run(project, hash, bytes.length, bytes)
  }

  return {
    put,
    /** The number of a snapshot, stored now if it is new. Only inside a transaction. */
    snapshot(project: string, json: string): number {
      const name = `${project}\n${json}`
      const known = snapshots.get(name)
      if (known !== undefined) return known
      const bytes = Buffer.from(json)
      const digest = hash('sha256', bytes, 'hex')
      put(project, digest, bytes)
      const id = Number(number.get(project, digest)?.id)
      if (snapshots.size >= MAX_CACHED_SNAPSHOTS) snapshots.clear()
      snapshots.set(name, id)
      fresh.push(name)
      return id
    },
    /** By the hash of a payload, or the number of a snapshot. */
    load(project: string, which: string | number): Uint8Array | undefined {
      const row = typeof which === 'number' ? byNumber.get(which) : byHash.get(project, which)
      return row?.bytes instanceof Uint8Array ? row.bytes : undefined
    },
    commit(): void {
      if (fresh.length > 0) fresh = []
    },
    rollback(): void {
      for (const name of fresh) snapshots.delete(name)
      fresh = []
    },
  }
}

export type BlobTable = ReturnType<typeof blobTable>
