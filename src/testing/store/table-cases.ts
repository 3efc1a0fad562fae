import assert from 'node:assert/strict'
import type { EventOf, PatternEventType } from '../../kernel/event.ts'
import type { Row, TableQuery } from '../../kernel/table-query.ts'
import type { Store, TableRow, TableScope } from '../../store/store.ts'
import type { PatternProjection, Projection, RowChange } from '../../store/tables/projection.ts'
import type { RunWriter } from './store-harness.ts'
import {
  createLeasedRun,
  expectAppendError,
  expectRejection,
  runEndData,
  testClaimant,
  testRunStart,
} from './store-harness.ts'

const PROJECT: TableScope = { project: 'default' }

/** Orders that are placed and paid, one row each, and a table of payments. */
function orders(more: Partial<Projection> = {}): PatternProjection {
  return {
    pattern: 'shop',
    projection: {
      version: 1,
      events: ['custom:order', 'custom:paid'],
      tables: [
        {
          name: 'orders',
          columns: {
            id: 'text',
            amount: 'real',
            items: { type: 'json', null: true },
            paid_at: { type: 'integer', null: true },
          },
          primaryKey: 'id',
          indexes: [{ name: 'idx_orders_project', columns: ['project_id', 'amount'] }],
        },
        { name: 'payments', columns: { id: 'text', order_id: 'text' }, primaryKey: 'id' },
      ],
      rows: orderRows,
      ...more,
    },
  }
}

function orderRows({ type, at, seq, data }: EventOf<PatternEventType>): RowChange[] {
  const id = String(data.order)
  if (type === 'custom:order') return [{ table: 'orders', insert: { id, amount: data.amount, items: data.items } }]
  return [
    { table: 'orders', id, update: { paid_at: at }, add: { amount: Number(data.tip ?? 0) } },
    { table: 'payments', insert: { id: `${id}-${seq}`, order_id: id } },
  ]
}

function order(writer: RunWriter, name: string, more: { amount?: number; items?: unknown } = {}) {
  return writer.append('custom:order', { key: `${name}-${writer.head}`, order: name, amount: 1, ...more })
}

async function rowsOf(store: Store, query: Partial<TableQuery> = {}, scope = PROJECT): Promise<Row[]> {
  return (await store.queryTable(scope, { table: 'orders', ...query })).map(({ row }) => row)
}

async function idsOf(store: Store, query: Partial<TableQuery> = {}, scope = PROJECT): Promise<unknown[]> {
  return (await rowsOf(store, query, scope)).map(({ id }) => id)
}

export async function keepsRows(store: Store): Promise<void> {
  const early = await createLeasedRun(store, 'r0')
  await order(early, 'before')
  await store.keepTables([orders()])
  assert.deepEqual(await idsOf(store), ['before'])
  const writer = await createLeasedRun(store, 'r1')
  await order(writer, 'a', { amount: 2.5, items: { lines: ['x', '\ud800'] } })
  await writer.append('custom:other', { key: 'k' })
  const paid = await writer.append('custom:paid', { key: 'p', order: 'a' })
  await writer.append('custom:paid', { key: 'q', order: 'of another run' })
  const run = { project_id: 'default', run_id: 'r1', inherited: 0 }
  assert.deepEqual(await rowsOf(store, { where: { id: 'a' } }), [
    { id: 'a', amount: 2.5, items: { lines: ['x', '\ud800'] }, paid_at: paid.at, ...run },
  ])
  assert.equal((await store.queryTable(PROJECT, { table: 'payments' })).length, 2)
  // A second insert replaces the values of the row.
  await order(writer, 'a', { amount: 3 })
  const [again] = await rowsOf(store, { where: { id: 'a' } })
  assert.deepEqual([again?.amount, again?.items, again?.paid_at], [3, null, null])
  await store.keepTables([orders()])
  assert.deepEqual(await idsOf(store), ['before', 'a'])
}

export async function changesRowsOfOtherRuns(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const writer = await createLeasedRun(store, 'r1')
  await order(writer, 'a')
  const later = await createLeasedRun(store, 'r2')
  const paid = await later.append('custom:paid', { key: 'p', order: 'a', tip: 0.5 })
  const foreign = await createLeasedRun(store, 'r3', 'other')
  await foreign.append('custom:paid', { key: 'p', order: 'a', tip: 9 })
  const expected = [['a', 'r1', 1.5, paid.at]]
  const summary = (rows: Row[]) => rows.map(({ id, run_id, amount, paid_at }) => [id, run_id, amount, paid_at])
  assert.deepEqual(summary(await rowsOf(store)), expected)
  // Computed again, the rows are the same.
  await store.keepTables([orders({ version: 2 })])
  assert.deepEqual(summary(await rowsOf(store)), expected)
}

export async function changesNothingWhenRejected(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const writer = await createLeasedRun(store, 'r1')
  await order(writer, 'a')
  const event = writer.nextEvent('custom:order', { key: 'k', order: 'b', amount: 1 })
  expectAppendError(await writer.tryAppend([event], { epoch: 7 }), 'lease_lost')
  assert.deepEqual(await idsOf(store), ['a'])
}

export async function queriesRows(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const writer = await createLeasedRun(store, 'r1')
  for (const [name, amount] of Object.entries({ a: 3, b: 1, c: 2, d: 2 })) await order(writer, name, { amount })
  await writer.append('custom:paid', { key: 'p', order: 'b' })
  const other = await createLeasedRun(store, 'r2', 'other')
  await order(other, 'z')
  assert.deepEqual(await idsOf(store), ['a', 'b', 'c', 'd'])
  assert.deepEqual(await idsOf(store, {}, { project: 'other' }), ['z'])
  assert.deepEqual(await idsOf(store, { where: { project_id: 'other' } }), [])
  assert.deepEqual(await idsOf(store, { orderBy: { column: 'amount', direction: 'desc' } }), ['a', 'd', 'c', 'b'])
  assert.deepEqual(await idsOf(store, { where: { id: ['a', 'd', 'x'] } }), ['a', 'd'])
  assert.deepEqual(await idsOf(store, { where: { id: [] } }), [])
  assert.deepEqual(await idsOf(store, { where: { amount: { gt: 1, lte: 2 } } }), ['c', 'd'])
  assert.deepEqual(await idsOf(store, { where: { amount: { gte: 2, lt: 3 }, id: 'c' } }), ['c'])
  assert.deepEqual(await idsOf(store, { where: { paid_at: null, amount: 1 } }), [])
  assert.deepEqual(await idsOf(store, { where: { paid_at: { gt: 0 } } }), ['b'])
  assert.deepEqual(await idsOf(store, { where: { run_id: 'r1' }, limit: 2 }), ['a', 'b'])
  // Text is bound, never part of a statement.
  assert.deepEqual(await idsOf(store, { where: { id: "' OR 1 = 1 --" } }), [])
}

export async function pagesRows(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const writer = await createLeasedRun(store, 'r1')
  for (const [name, amount] of Object.entries({ a: 2, b: 1, c: 2, d: 2, e: 3 })) await order(writer, name, { amount })
  const page = { table: 'orders', limit: 2, orderBy: { column: 'amount', direction: 'desc' } } as const
  const seen: unknown[] = []
  for (let after: TableRow['position'] | undefined; ; ) {
    const rows: TableRow[] = await store.queryTable(PROJECT, { ...page, after })
    seen.push(...rows.map(({ row }) => row.id))
    after = rows.at(-1)?.position
    if (rows.length < 2) break
    // A row that comes later in the order is found, one that was passed is not repeated.
    if (seen.length === 2) await order(writer, 'late', { amount: 9 })
  }
  assert.deepEqual(seen, ['e', 'd', 'c', 'a', 'b'])
}

export async function rejectsInvalidQueries(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const reject = (query: object, message: RegExp) =>
    expectRejection(store.queryTable(PROJECT, { table: 'orders', ...query }), 'invalid_input', message)
  await reject({ table: 'ordrs' }, /no table 'ordrs'; known: orders/)
  await reject({ table: 'runs' }, /no table 'runs'/)
  await reject({ where: { amout: 1 } }, /no column 'amout'; known: amount/)
  await reject({ where: { 'id" = "id" OR "id': 'a' } }, /no column/)
  await reject({ where: { amount: 'much' } }, /`where.amount` is string, but the column is real/)
  await reject({ where: { items: '[]' } }, /JSON column 'items'/)
  await reject({ where: { amount: { like: '%' } } }, /no operator 'like'; known: gt, gte, lt, lte/)
  await reject({ where: { id: Array.from({ length: 1001 }, String) } }, /more than 1000 values/)
  await reject({ orderBy: { column: 'paid_at' } }, /'paid_at' can be null/)
  await reject({ orderBy: { column: 'amount', direction: 'DESC; DROP TABLE orders' } }, /direction/)
  await reject({ limit: 5000 }, /from 1 to 1000/)
  await reject({ limit: 0 }, /from 1 to 1000/)
}

type TableChange = Partial<Projection['tables'][number]>

export async function rejectsInvalidTables(store: Store): Promise<void> {
  const base = { name: 'invoices', columns: { id: 'text' }, primaryKey: 'id' } as const
  const reject = async (table: TableChange, message: RegExp, pattern = 'bad') => {
    const projection = { ...orders().projection, tables: [{ ...base, ...table }] }
    await expectRejection(store.keepTables([{ pattern, projection }]), 'invalid_input', message)
    await expectRejection(store.queryTable(PROJECT, { table: 'invoices' }), 'invalid_input', /no table/)
  }
  await reject({ name: 'runs' }, /'runs' belongs to the store/)
  await reject({ name: 'projections' }, /'projections' belongs to the store/)
  await reject({ name: 'x"; DROP TABLE runs; --' }, /not a valid name of a table/)
  await reject({ name: 'sqlite_sequence' }, /not a valid name/)
  await reject({ name: 'Runs' }, /not a valid name/)
  await reject({ columns: { id: 'text', 'a" TEXT); --': 'text' } }, /not a valid name of a column/)
  await reject({ columns: { id: 'text', run_id: 'text' } }, /'run_id' is filled by the store/)
  await reject({ columns: { id: 'text', n: 'blob' as 'text' } }, /unknown type 'blob'/)
  await reject({ primaryKey: 'nothing' }, /`primaryKey` 'nothing'/)
  await reject({ columns: { id: { type: 'text', null: true } } }, /`primaryKey` 'id'/)
  await reject({ indexes: [{ name: 'gates_open', columns: ['id'] }] }, /'gates_open' belongs to the store/)
  await reject({ indexes: [{ name: 'i', columns: ['nothing'] }] }, /no column 'nothing'; known: id/)
  await store.keepTables([orders()])
  await reject({ name: 'orders' }, /'orders' belongs to the pattern 'shop'/)
  await reject({ indexes: [{ name: 'idx_orders_project', columns: ['id'] }] }, /belongs to the pattern 'shop'/)
  assert.deepEqual(await idsOf(store), [])
}

export async function rebuildsChangedTables(store: Store, other: Store): Promise<void> {
  await store.keepTables([orders()])
  const writer = await createLeasedRun(store, 'r1')
  await order(writer, 'a', { amount: 5 })
  const [first] = orders().projection.tables
  assert.ok(first)
  const columns = { id: 'text', doubled: 'real' } as const
  const next = orders({
    version: 2,
    tables: [{ name: 'orders', columns, primaryKey: 'id' }],
    events: ['custom:order'],
    rows: ({ data }) => [{ table: 'orders', insert: { id: String(data.order), doubled: Number(data.amount) * 2 } }],
  })
  await other.keepTables([next])
  assert.deepEqual(
    (await rowsOf(other)).map(({ id, doubled }) => [id, doubled]),
    [['a', 10]],
  )
  await expectRejection(other.queryTable(PROJECT, { table: 'payments' }), 'invalid_input', /no table 'payments'/)
  // The older version neither brings its tables back nor writes rows into the new ones.
  await store.keepTables([orders()])
  await order(writer, 'b', { amount: 6 })
  await other.keepTables([next])
  assert.deepEqual(
    (await rowsOf(other)).map(({ id, doubled }) => [id, doubled]),
    [
      ['a', 10],
      ['b', 12],
    ],
  )
}

/** Only for stores that several processes share. */
export async function computesMissedRows(store: Store, other: Store): Promise<void> {
  if (store === other) return
  await store.keepTables([orders()])
  const ours = await createLeasedRun(store, 'r1')
  await order(ours, 'a')
  const theirs = await createLeasedRun(other, 'r2')
  assert.deepEqual(await idsOf(other), ['a'], 'a process without the projection reads complete tables')
  await theirs.append('custom:other', { key: 'k' })
  assert.deepEqual(await idsOf(other), ['a'])
  await order(theirs, 'b')
  await expectRejection(
    other.queryTable(PROJECT, { table: 'orders' }),
    'needs_missing',
    /version 1 of the pattern 'shop'/,
  )
  await order(ours, 'c')
  assert.deepEqual(new Set(await idsOf(store)), new Set(['a', 'b', 'c']))
  assert.deepEqual(new Set(await idsOf(other)), new Set(['a', 'b', 'c']))
}

export async function deletesRowsOfRuns(store: Store, other: Store): Promise<void> {
  await store.keepTables([orders()])
  for (const run_id of ['r1', 'r2']) {
    const writer = await createLeasedRun(store, run_id)
    await order(writer, `of ${run_id}`)
    await writer.append('run:end', runEndData())
    await store.release({ run_id, project: 'default', epoch: writer.epoch, head: writer.head })
  }
  await other.deleteRuns(['r1'])
  assert.deepEqual(await idsOf(store), ['of r2'])
}

/** A fork that inherited the first two events; what it appends was recorded at 5. */
async function forkOf(store: Store, original: string, run_id: string) {
  const start = testRunStart(run_id)
  const forked_from = { run_id: original, seq: 2, inherited: 2, changes: {} }
  const data = { ...start.data, forked_from }
  const { epoch } = await store.createRun({ ...start, data } as typeof start, testClaimant('me'))
  return {
    append: (seq: number, type: string, data: object) => {
      const events = [{ run_id, seq, at: 5, type, data } as never]
      return store.append([{ run_id, project: 'default', epoch, sync: 'normal', events }])
    },
  }
}

export async function tellsInheritedRowsApart(store: Store): Promise<void> {
  await store.keepTables([orders()])
  const original = await createLeasedRun(store, 'r1')
  await order(original, 'a')
  const fork = await forkOf(store, 'r1', 'r2')
  await fork.append(2, 'custom:order', { key: 'k', order: 'a', amount: 1 })
  await fork.append(3, 'custom:paid', { key: 'p', order: 'a' })
  await fork.append(4, 'custom:order', { key: 'l', order: 'b', amount: 2 })
  const summary = (rows: Row[]) => rows.map(({ id, run_id, inherited, paid_at }) => [id, run_id, inherited, paid_at])
  assert.deepEqual(summary(await rowsOf(store)), [
    ['a', 'r1', 0, null],
    ['b', 'r2', 0, null],
  ])
  assert.deepEqual(summary(await rowsOf(store, {}, { ...PROJECT, run_id: 'r2' })), [
    ['a', 'r2', 1, 5],
    ['b', 'r2', 0, null],
  ])
  assert.deepEqual(summary(await rowsOf(store, { where: { inherited: 1 } })), [['a', 'r2', 1, 5]])
}

export async function updatesRowsOfRun(store: Store): Promise<void> {
  const rows = (event: EventOf<PatternEventType>): RowChange[] =>
    event.type === ('run:end' as string)
      ? [{ table: 'orders', where: { paid_at: null, amount: { lt: 5 } }, update: { paid_at: event.at } }]
      : orderRows(event)
  await store.keepTables([orders({ rows, events: ['custom:order', 'custom:paid', 'run:end'] })])
  const other = await createLeasedRun(store, 'r1')
  await order(other, 'other')
  const writer = await createLeasedRun(store, 'r2')
  await order(writer, 'paid')
  const paid = await writer.append('custom:paid', { key: 'p', order: 'paid' })
  await order(writer, 'open')
  await order(writer, 'large', { amount: 9 })
  const end = await writer.append('run:end', runEndData('cancelled'))
  assert.deepEqual(
    (await rowsOf(store)).map(({ id, paid_at }) => [id, paid_at]),
    [
      ['other', null],
      ['paid', paid.at],
      ['open', end.at],
      ['large', null],
    ],
  )
}

export async function projectsEndsOfEarlierRuns(store: Store): Promise<void> {
  const rows = (event: EventOf<PatternEventType>): RowChange[] =>
    event.type === ('run:end' as string)
      ? [{ table: 'orders', where: { paid_at: null }, update: { paid_at: event.at } }]
      : orderRows(event)
  const [ended, running] = [await createLeasedRun(store, 'r1'), await createLeasedRun(store, 'r2')]
  for (const writer of [ended, running]) await order(writer, writer.run_id)
  const first = await ended.append('run:end', runEndData())
  await store.keepTables([orders({ rows, events: ['custom:order', 'custom:paid', 'run:end'] })])
  const second = await running.append('run:end', runEndData())
  assert.deepEqual(
    (await rowsOf(store)).map(({ id, paid_at }) => [id, paid_at]),
    [
      ['r1', first.at],
      ['r2', second.at],
    ],
  )
}

export async function updatesRowsOfProject(store: Store): Promise<void> {
  const rows = (event: EventOf<PatternEventType>): RowChange[] =>
    event.type === ('run:end' as string)
      ? [{ table: 'orders', where: { paid_at: null }, scope: 'project', update: { paid_at: event.at } }]
      : orderRows(event)
  await store.keepTables([orders({ rows, events: ['custom:order', 'custom:paid', 'run:end'] })])
  await order(await createLeasedRun(store, 'r1', 'elsewhere'), 'of another project')
  const other = await createLeasedRun(store, 'r2')
  await order(other, 'a')
  const fork = await forkOf(store, 'r2', 'r3')
  await fork.append(2, 'custom:order', { key: 'k', order: 'a', amount: 1 })
  const readPayments = async (scope: object) =>
    (await rowsOf(store, {}, { ...PROJECT, ...scope })).map(({ paid_at }) => paid_at)
  await (await createLeasedRun(store, 'r4')).append('run:end', runEndData())
  assert.deepEqual(await readPayments({}), [null])
  const writer = await createLeasedRun(store, 'r5')
  await writer.append('custom:paid', { key: 'p', order: 'unknown' })
  const end = await writer.append('run:end', runEndData())
  assert.deepEqual(await readPayments({}), [end.at])
  assert.deepEqual(await readPayments({ project: 'elsewhere' }), [null])
  assert.deepEqual(await readPayments({ run_id: 'r3' }), [null])
}

export async function inheritsNoChangeOfOtherRuns(store: Store): Promise<void> {
  await store.keepTables([orders()])
  await order(await createLeasedRun(store, 'r1'), 'a', { amount: 1 })
  const fork = await forkOf(store, 'r2', 'r3')
  await fork.append(2, 'custom:paid', { key: 'p', order: 'a' })
  assert.deepEqual(
    (await rowsOf(store)).map(({ id, paid_at }) => [id, paid_at]),
    [['a', null]],
  )
  await fork.append(3, 'custom:paid', { key: 'q', order: 'a' })
  assert.deepEqual(
    (await rowsOf(store)).map(({ id, paid_at }) => [id, paid_at]),
    [['a', 5]],
  )
}

export async function survivesFailingProjections(store: Store): Promise<void> {
  const rows = ({ data }: EventOf<PatternEventType>): RowChange[] => {
    if (data.order === 'throws') throw new Error('no such order')
    return [{ table: 'orders', insert: { id: String(data.order), amount: data.amount } }]
  }
  await store.keepTables([orders({ rows })])
  const writer = await createLeasedRun(store, 'r1')
  await order(writer, 'a')
  await order(writer, 'throws')
  await writer.append('custom:order', { key: 'x', order: 'b', amount: 'much' })
  await order(writer, 'c')
  assert.deepEqual(await idsOf(store), ['a', 'c'])
  assert.equal((await store.run('r1'))?.head, 5)
  assert.deepEqual(await store.checkIntegrity(), [
    {
      rule: 'table',
      message: "the tables of the pattern 'shop' lack event 3 (custom:order) of run r1: no such order",
    },
  ])
}
