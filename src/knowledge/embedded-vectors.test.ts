import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { MemoryStore } from '../store/memory.ts'
import { openSqlite } from '../store/sqlite.ts'
import { vectorsContract } from '../testing/vectors-contract.ts'
import { embeddedVectors } from './embedded-vectors.ts'

vectorsContract('vectors in memory', () => ({ vectors: embeddedVectors(new MemoryStore()), dispose: () => {} }), {
  describe,
  test,
})

async function openSqliteVectors() {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-vectors-'))
  const store = await openSqlite(join(folder, 'store.db'))
  const dispose = async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { vectors: embeddedVectors(store), dispose }
}

vectorsContract('vectors in SQLite', openSqliteVectors, { describe, test })
