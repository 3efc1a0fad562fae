import { readdirSync, readlinkSync } from 'node:fs'

/*
 * Imports what it is told (nothing, without an argument) and says what that left behind. Usage:
 * node import-process.ts [FILE]; prints one line of JSON.
 */

export interface ImportReport {
  import_ms: number
  rss_bytes: number
  sockets: number
}

function sockets(): number {
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

const from = performance.now()
const file = process.argv[2]
if (file !== undefined) await import(file)
const report: ImportReport = {
  import_ms: performance.now() - from,
  rss_bytes: process.memoryUsage.rss(),
  sockets: sockets(),
}
process.stdout.write(`${JSON.stringify(report)}\n`)
