import type { TokenTake } from '../token-bucket.ts'
import { takeFromBucket } from '../token-bucket.ts'
import type { Database } from './node-sqlite.ts'

function statements(db: Database) {
  return {
    get: db.prepare('SELECT level, at FROM token_buckets WHERE key = ?'),
    put: db.prepare(
      `INSERT INTO token_buckets (key, level, at) VALUES (?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET level = excluded.level, at = excluded.at`,
    ),
  }
}

/** Token buckets: rate limits that all processes of a file share. */
export class BucketTable {
  readonly #sql
  readonly #now: () => number

  constructor(db: Database, now: () => number) {
    this.#sql = statements(db)
    this.#now = now
  }

  take(take: TokenTake): number {
    const row = this.#sql.get.get(take.key)
    const found = row && { level: Number(row.level), at: Number(row.at) }
    const { state, wait_ms } = takeFromBucket(found, take, this.#now())
    if (state) this.#sql.put.run(take.key, state.level, state.at)
    return wait_ms
  }
}
