import { runStreamLoad } from './streams-load.ts'

/* npm run bench:streams [-- CLIENTS EVENTS SIZE]: many clients on the events of one run; some of them do not read. */

const [clients = 500, events = 5000, size = 1000] = process.argv.slice(2).map(Number)
const slow = Math.ceil(clients / 20)
console.log(`${clients} clients (${slow} slow), ${events} events of ${size} bytes`)
const report = await runStreamLoad({ clients, slow, events, size, stall_ms: 8000 })
const mb = (value: number) => `${value.toFixed(0)} MB`
console.log(`complete and in order    ${report.complete} of ${clients}`)
console.log(`dropped and recovered    ${report.recovered} of ${slow}, and ${report.others} others`)
console.log(`time                     ${report.seconds.toFixed(1)} s`)
console.log(`sent                     ${mb(report.megabytes)}, ${mb(report.megabytes / report.seconds)}/s`)
console.log(`events delivered         ${((clients * events) / report.seconds).toFixed(0)} per second`)
console.log(`server memory (RSS)      ${mb(report.rss.before)} before, ${mb(report.rss.peak)} at most`)
console.log(`server heap and buffers  ${mb(report.heap.before)} before, ${mb(report.heap.peak)} at most`)
process.exitCode = report.complete === clients && report.recovered === slow ? 0 : 1
