import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { findHostProgram } from '../../../runtime/tool-ports.ts'

/** The process that listens on a TCP port of this machine: `node (pid 4242)`; `undefined` if it cannot be found. */
export async function findPortOwner(port: number): Promise<string | undefined> {
  return process.platform === 'linux' ? findInProc(port) : findWithLsof(port)
}

async function findInProc(port: number): Promise<string | undefined> {
  const sockets = await listeningSockets(port)
  if (sockets.size === 0) return undefined
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    // Processes of other users cannot be read.
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '')
      if (sockets.has(target)) return describeProcess(pid)
    }
  }
  return undefined
}

const LISTEN = '0A'

/** The listening sockets of a port, as the links of open files name them. */
async function listeningSockets(port: number): Promise<Set<string>> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')))
  const rows = tables.flatMap((table) => table.split('\n').slice(1)).map((line) => line.trim().split(/\s+/))
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return new Set(
    rows.filter(([, local, , state]) => state === LISTEN && local?.endsWith(suffix)).map((row) => `socket:[${row[9]}]`),
  )
}

async function describeProcess(pid: string): Promise<string> {
  const name = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim()
  return `${name || 'a process'} (pid ${pid})`
}

async function findWithLsof(port: number): Promise<string | undefined> {
  const found = await findHostProgram('lsof')
  if (!found) return undefined
  return new Promise((resolve) => {
    execFile(found.program, ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], { timeout: 2000 }, (error, output) => {
      const [, pid] = /^p(\d+)/m.exec(output) ?? []
      const [, name] = /^c(.+)/m.exec(output) ?? []
      resolve(error || pid === undefined ? undefined : `${name ?? 'a process'} (pid ${pid})`)
    })
  })
}

/** A port of this address that is free now. */
export function findFreePort(host: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(0, host, () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' ? address?.port : undefined))
    })
  })
}
