import { readdirSync, readlinkSync } from 'node:fs'

/* `node import-process.ts [FILE]` imports a file, or nothing, and prints time, memory and open sockets as one line of JSON. */

export interface ImportReport {
  import_ms: number
  rss_bytes: number
  sockets: number
}

function countSockets(): number {
  try {
    return readdirSync('/proc/self/fd').filter((fd) => readLinkTarget(fd).startsWith('socket:')).length
  } catch {
    return process.getActiveResourcesInfo().filter((name) => /TCP|UDP/.test(name)).length
  }
}

function readLinkTarget(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

const start = performance.now()
const file = process.argv[2]
if (file !== undefined) await import(file)
const report: ImportReport = {
  import_ms: performance.now() - start,
  rss_bytes: process.memoryUsage.rss(),
  sockets: countSockets(),
}
process.stdout.write(`${JSON.stringify(report)}\n`)
