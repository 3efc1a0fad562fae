import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'

/** A path for the store of a test, and its rows as plain SQL reads them. `close` ends the programs that use it before the folder is removed. */
export function createSqlStore(close: () => Promise<unknown>): SqlStore {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-sql ü-'))
  const path = join(folder, 'store.db')
  onTestFinished(async () => {
    await close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    path,
    sql(query) {
      const database = new DatabaseSync(path, { readOnly: true })
      try {
        const rows = database.prepare(query).all()
        return rows.map((row) => ({ ...row }))
      } finally {
        database.close()
      }
    },
  }
}

export interface SqlStore {
  path: string
  sql(query: string): Record<string, unknown>[]
}
