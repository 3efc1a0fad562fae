import { join } from 'node:path'
import { createTroupe } from '../../src/index.ts'
import { openSqlite } from '../../src/store/sqlite.ts'

/**
 * `watch-child.ts FOLDER RUN COUNT` watches a run with COUNT watchers until it has ended. Prints a line when all have their
 * first event, and at the end what they got and what that cost.
 */
const [folder = '', run_id = '', count = '1'] = process.argv.slice(2)
const store = await openSqlite(join(folder, 'troupe.db'))
const readEvents = store.events.bind(store)
let reads = 0
store.events = (id, range) => {
  reads += 1
  return readEvents(id, range)
}
let notifications = 0
store.changes.subscribe(() => {
  notifications += 1
})
let peak = 0
// Not alive by itself: a watcher that waits has to keep its process alive.
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().heapUsed)
}, 5).unref()
const troupe = await createTroupe({ store })
let started = 0
const watchers = Array.from({ length: Number(count) }, async () => {
  let seq = 0
  let inOrder = true
  for await (const event of troupe.watch(run_id)) {
    inOrder &&= event.seq === seq + 1
    seq = event.seq
    if (seq === 1 && ++started === Number(count)) process.stdout.write('watching\n')
  }
  return inOrder ? seq : -1
})
const seqs = await Promise.all(watchers)
await troupe.close()
const heap_mb = Math.round(peak / 1e6)
const report = { seqs: [...new Set(seqs)], watchers: seqs.length, reads, notifications, heap_mb }
process.stdout.write(`${JSON.stringify(report)}\n`)
