import { openSqlite } from '../../src/store/sqlite.ts'

/* Deletes all runs, one after the other, and compacts after each; a test kills it in between. */
const store = await openSqlite(process.argv[2] ?? '')
for (const { run_id } of await store.runs({ project: 'default' })) {
  await store.deleteRuns([run_id])
  process.stdout.write(`deleted ${run_id}\n`)
  await store.compact()
  process.stdout.write('compacted\n')
}
await store.close()
