import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { agent, functionModel } from '../../../test/support/test-troupe.ts'
import { createTroupe } from '../../runtime/troupe.ts'
import { createLeasedRun } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'

/* The statements of a whole run are most of its cost besides the disk; each transaction costs a write to the log. */

/** Three of them write the words by which the run is found. */
const MAX_STATEMENTS = 20
const MAX_TRANSACTIONS = 3

afterEach(() => vi.restoreAllMocks())

/** Records the SQL of every statement that is executed from now on. */
function recordStatements(): string[] {
  const executed: string[] = []
  for (const method of ['run', 'get', 'all', 'iterate'] as const) {
    const original = StatementSync.prototype[method] as (...values: unknown[]) => never
    vi.spyOn(StatementSync.prototype, method).mockImplementation(function (this: StatementSync, ...values: unknown[]) {
      // Other processes are polled by the clock, not by the run.
      if (!this.sourceSQL.includes('data_version')) executed.push(this.sourceSQL)
      return original.apply(this, values)
    })
  }
  const exec = DatabaseSync.prototype.exec
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql: string) {
    executed.push(sql)
    exec.call(this, sql)
  })
  return executed
}

test('a whole run with one turn executes few statements in few transactions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-statements-'))
  const model = functionModel(() => ({ text: 'done' }))
  const troupe = await createTroupe({ store: join(folder, 'store.db'), model, agents: [agent('worker')] })
  const input = { agent: 'worker', instruction: 'Answer in one sentence.' }
  for (let warmUp = 0; warmUp < 2; warmUp++) expect((await troupe.run('task', input)).status).toBe('completed')
  const executed = recordStatements()
  await troupe.run('task', input)
  const count = [...executed]
  vi.restoreAllMocks()
  await troupe.close()
  rmSync(folder, { recursive: true })
  const transactions = count.filter((sql) => sql.startsWith('BEGIN')).length
  console.log(`a run with one turn: ${count.length} statements, ${transactions} transactions`)
  expect(count.length).toBeLessThanOrEqual(MAX_STATEMENTS)
  expect(transactions).toBeLessThanOrEqual(MAX_TRANSACTIONS)
})

test('ST45 full syncs every commit, normal those that ask for it, relaxed none', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-syncs-'))
  const synced: Record<string, boolean[]> = {}
  for (const durability of ['normal', 'full', 'relaxed'] as const) {
    const store = await openSqlite(join(folder, `${durability}.db`), { durability })
    const writer = await createLeasedRun(store, 'r1')
    const executed = recordStatements()
    for (const sync of ['normal', 'full', 'normal'] as const)
      await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })], { sync })
    let isFull = durability === 'full'
    synced[durability] = executed.flatMap((sql) => {
      if (sql.includes('synchronous')) isFull = sql.includes('FULL')
      return sql === 'COMMIT' ? [isFull] : []
    })
    vi.restoreAllMocks()
    await store.close()
  }
  rmSync(folder, { recursive: true })
  expect(synced).toEqual({
    normal: [false, true, false],
    full: [true, true, true],
    relaxed: [false, false, false],
  })
})
