import type { Event } from '../../src/kernel/event.ts'
import type { Row, TableQuery } from '../../src/kernel/table-query.ts'
import { consultTables } from '../../src/patterns/consult/tables.ts'
import { openMemory } from '../../src/store/sqlite.ts'
import type { Store, TableRow } from '../../src/store/store.ts'

const PROJECTION = { pattern: 'consult', projection: consultTables }

/** The differences between the tables of consultations in a store and the fold of the journal of its only run, and what that run left at work. */
export async function tableProblems(store: Store, journal: readonly Event[]): Promise<string[]> {
  await store.keepTables([PROJECTION])
  const computed = await storeOf(journal)
  await computed.keepTables([PROJECTION])
  const found: string[] = []
  for (const { name: table } of consultTables.tables) {
    const page = { table, limit: 1000 }
    const kept = rowsFrom(await store.queryTable({ project: 'default' }, page))
    const expected = rowsFrom(await computed.queryTable({ project: 'default' }, page))
    if (kept !== expected) found.push(`${table} has ${kept} instead of ${expected}`)
  }
  const end = journal.findLast(({ type }) => type === 'run:end')
  const atWork = { agent_collaborations: { active_run: end?.run_id }, collaboration_exchanges: { open: 1 } }
  for (const [table, where] of end ? Object.entries(atWork) : []) {
    const rows = await store.queryTable({ project: 'default' }, { table, where } as TableQuery)
    if (rows.length > 0) found.push(`${table}: the run has ended, but ${rowsFrom(rows)} is at work`)
  }
  return found
}

/** A store with this journal, and without tables. */
async function storeOf([start, ...events]: readonly Event[]): Promise<Store> {
  const store = openMemory()
  if (!start) return store
  const { run_id, project, epoch } = await store.createRun(start, { owner: 'oracle', ttl_ms: 1000 })
  await store.append([{ run_id, project, epoch, events, sync: 'normal' }])
  return store
}

function rowsFrom(rows: readonly TableRow[]): string {
  const sorted = ({ row }: { row: Row }) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return JSON.stringify(rows.map(sorted))
}
