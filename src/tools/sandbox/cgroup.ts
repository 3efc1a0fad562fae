import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/*
 * Prevents fork bombs as root: RLIMIT_NPROC (`ulimit -u`) does not apply to root, so the pids controller of a cgroup limits
 * processes, where this process may create one.
 */

const CGROUP_ROOT = '/sys/fs/cgroup'

export interface Cgroup {
  /** A process joins by writing its pid to this file. */
  procsFile: string
  remove(): Promise<void>
}

/** The cgroup in which child cgroups can be created; `undefined` when that is not possible. */
export function pidsCgroupParent(): string | undefined {
  const lines = readOr('/proc/self/cgroup', '').split('\n')
  const version1 = lines.find((line) => /^\d+:([^:]*,)?pids(,[^:]*)?:/.test(line))
  if (version1) return ifWritable(join(CGROUP_ROOT, 'pids', cgroupPath(version1)))
  const version2 = lines.find((line) => line.startsWith('0::'))
  const parent = version2 && join(CGROUP_ROOT, cgroupPath(version2))
  const controllers = parent ? readOr(join(parent, 'cgroup.subtree_control'), '').split(/\s+/) : []
  return parent && controllers.includes('pids') ? ifWritable(parent) : undefined
}

let staleRemoved = false

export function createCgroup(id: string, processes: number): Cgroup | undefined {
  const parent = pidsCgroupParent()
  if (parent === undefined) return undefined
  if (!staleRemoved) removeStaleCgroups(parent)
  staleRemoved = true
  const folder = join(parent, `troupe-${process.pid}-${id}`)
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(processes))
  } catch {
    return undefined
  }
  return { procsFile: join(folder, 'cgroup.procs'), remove: () => removeCgroup(folder) }
}

/** Removes cgroups of crashed Troupe processes. */
function removeStaleCgroups(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^troupe-(\d+)-/.exec(name) ?? []
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    try {
      rmdirSync(join(parent, name))
    } catch {
      // Removed by another process, or still in use.
    }
  }
}

async function removeCgroup(folder: string): Promise<void> {
  // The kernel refuses to remove a cgroup until its last zombie process is reaped.
  for (const delay_ms of [0, 5, 20, 100, 500, 2000]) {
    if (delay_ms > 0) await delay(delay_ms)
    try {
      rmdirSync(folder)
      return
    } catch {
      // Not empty yet.
    }
  }
}

function cgroupPath(line: string): string {
  return line.slice(line.indexOf(':', line.indexOf(':') + 1) + 1)
}

function readOr(path: string, fallback: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return fallback
  }
}

function ifWritable(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK)
    return folder
  } catch {
    return undefined
  }
}
