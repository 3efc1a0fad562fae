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
    let time = Date.now()
    const now = () => time
    const store = await openSqlite(path, { now })
    return {
      store,
      reopen: () => openSqlite(path, { now }),
      async passTime(ms) {
        time += ms
      },
      async dispose() {
        await store.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  { describe, test },
)
