import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStore } from '../../test/support/memory-store.ts'
import type { Event } from '../kernel/event.ts'
import type { PriceBook } from '../kernel/spend.ts'
import type { AccountRow } from '../run-model/accounts.ts'
import { accountsFrom, sumAccountsBy } from '../run-model/accounts.ts'
import { openDatabase } from '../store/sqlite/node-sqlite.ts'
import { openSqlite } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { NOW, RunWriter, sessionOpenData, testClaimant, testRunStart } from '../testing/store/store-harness.ts'
import { readAccounts } from './account-query.ts'

/* Journals as no engine writes them: requests that begin twice or end without a beginning, in sessions that were never opened. */

const prices: PriceBook = {
  cost: (model, { input, output }) => (model === 'unpriced' ? undefined : (input * 0.1 + output * 0.7) / 3_000_000),
}

const amount = fc.oneof(fc.nat({ max: 200_000 }), fc.constant(2 ** 53 - 1))
const dollars = fc.oneof(fc.double({ min: 0, max: 1000, noNaN: true }), fc.constant(0.1 + 0.2), fc.constant(0))
const usage = fc.record({ input: amount, output: amount, cache_read: amount, cache_write: amount, reasoning: amount })
const reserved = fc.record({ calls: fc.constant(1), tokens: amount, usd: dollars })
const request = {
  key: fc.constantFrom('a', 'b/"quoted"\u0000', '{"$blob":"x","size":1}', 'long'.repeat(200)),
  attempt: fc.integer({ min: 1, max: 2 }),
}
const text = fc.constantFrom('', 'short', 'a long answer '.repeat(300), '"forked_from":{"inherited":3}')
const agent = fc.constantFrom('ada', 'Zoë 🦊', 'n'.repeat(600))
const anyEvent = fc.oneof(
  fc.record({
    type: fc.constant('session:open'),
    data: fc
      .record({
        agent: fc.record({ name: agent, description: text, instructions: text }),
        parent_session_id: fc.constantFrom(null, 'parent'),
      })
      .map((more) => sessionOpenData(1, more)),
  }),
  fc.record({
    type: fc.constant('model:begin'),
    data: fc.record(
      { ...request, model: fc.constantFrom('m', 'unpriced'), reserved, phase: fc.constant('summary') },
      { requiredKeys: ['key', 'attempt', 'model', 'reserved'] },
    ),
  }),
  fc.record({
    type: fc.constantFrom('model:end', 'model:error'),
    data: fc.record(
      { ...request, usage, usd: fc.option(dollars), estimated: fc.constant(true), message: text },
      { requiredKeys: ['key', 'attempt', 'usage', 'usd', 'message'] },
    ),
  }),
  fc.record({ type: fc.constant('model:lost'), data: fc.record({ ...request, reserved, partial_text: text }) }),
  fc.record({ type: fc.constant('custom:note'), data: fc.record({ key: fc.constant('n'), text }) }),
)
interface RandomRun {
  events: { event: { type: string; data: object }; session: string }[]
  inherited: number | null
  instruction: string
}

const journals: fc.Arbitrary<RandomRun[]> = fc.array(
  fc.record({
    events: fc.array(fc.record({ event: anyEvent, session: fc.constantFrom('s1', 's2') }), {
      maxLength: 20,
    }),
    inherited: fc.option(fc.nat({ max: 12 })),
    instruction: text,
  }),
  { maxLength: 4 },
)

/** Creates the runs in a project of their own. Returns their whole journals, newest run first. */
async function writeRuns(store: Store, project: string, runs: readonly RandomRun[]): Promise<Event[][]> {
  const written: Event[][] = []
  for (const [n, { events, inherited, instruction }] of runs.entries()) {
    const run_id = `${project}/${n}`
    const start = testRunStart(run_id, { project, input: { instruction } })
    const forked_from = inherited === null ? undefined : { run_id: 'r', seq: 1, inherited, changes: {} }
    const lease = await store.createRun({ ...start, data: { ...start.data, forked_from } } as Event, testClaimant('a'))
    const writer = new RunWriter(store, lease)
    const journal = events.map(({ event, session }) =>
      writer.nextEvent(event.type as 'custom:x', event.data as { key: string }, `${run_id}/${session}`),
    )
    expect(await writer.tryAppend(journal)).toEqual({ ok: true })
    written.unshift(await store.events(run_id))
  }
  return written
}

async function collect(rows: AsyncIterable<AccountRow>): Promise<AccountRow[]> {
  const collected: AccountRow[] = []
  for await (const row of rows) collected.push(row)
  return collected
}

test('AC2 the accounts that a store reads equal those of the whole journals, exactly', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-accounts-'))
  const stores = [await openSqlite(join(folder, 'troupe.db'), { durability: 'relaxed' }), memoryStore()]
  let projects = 0
  await fc.assert(
    fc.asyncProperty(journals, async (runs) => {
      const project = `p${++projects}`
      for (const store of stores) {
        const written = await writeRuns(store, project, runs)
        const expected = written.flatMap((events) => accountsFrom(events, prices))
        const rows = await collect(readAccounts({ store, project }, { prices }))
        expect(rows).toEqual(expected)
        for (const key of ['run', 'agent', 'model', 'parent', 'phase'] as const)
          expect(sumAccountsBy(rows, key)).toEqual(sumAccountsBy(expected, key))
        const since = NOW + 5
        expect(await collect(readAccounts({ store, project }, { prices, since }))).toEqual(
          expected.filter(({ at }) => at >= since),
        )
      }
    }),
    { numRuns: 150 },
  )
  for (const store of stores) await store.close()
  await rm(folder, { recursive: true })
})

test('ST23 damage of a journal that accounts need is reported, also beside runs without damage', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-accounts-'))
  const path = join(folder, 'troupe.db')
  const store = await openSqlite(path)
  for (const run_id of ['r1', 'r2', 'r3']) {
    const writer = new RunWriter(store, await store.createRun(testRunStart(run_id), testClaimant('a')))
    await writer.append('session:open', sessionOpenData(1), run_id)
  }
  const db = openDatabase(path)
  db.exec(`UPDATE events SET data = '{' WHERE run = 2 AND seq = 2`)
  db.close()
  const read = (run_id?: string) =>
    collect(readAccounts({ store, project: 'default' }, { prices, ...(run_id && { run_id }) }))
  const damaged = { code: 'store_corrupt', message: expect.stringContaining('event 2 of run r2') }
  await expect(read()).rejects.toMatchObject(damaged)
  await expect(read('r2')).rejects.toMatchObject(damaged)
  expect(await read('r1')).toEqual([])
  await store.close()
  await rm(folder, { recursive: true })
})
