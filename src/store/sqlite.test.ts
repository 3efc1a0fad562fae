import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { storeContract } from '../testing/store-contract.ts'
import { openSqlite } from './sqlite.ts'

storeContract(
  'the SQLite store',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-store-'))
    const path = join(folder, 'made', 'store.db')
    const store = await openSqlite(path)
    return {
      store,
      reopen: () => openSqlite(path),
      async dispose() {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  { describe, test },
)
