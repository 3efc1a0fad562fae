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
 * How many processes a command may have. The limit of the shell does it for everyone but root; for root the kernel's
 * process groups do, where this process may make one.
 */

const CGROUP_ROOT = '/sys/fs/cgroup'

export interface Cgroup {
  /** Where a process writes its number to join. */
  procsFile: string
  remove(): Promise<void>
}

/** The group that ours would be made in, if it may be. */
export function pidsCgroupParent(): string | undefined {
  const groups = readOr('/proc/self/cgroup', '').split('\n')
  const old = groups.find((line) => /^\d+:([^:]*,)?pids(,[^:]*)?:/.test(line))
  if (old) return ifWritable(join(CGROUP_ROOT, 'pids', cgroupPath(old)))
  const unified = groups.find((line) => line.startsWith('0::'))
  const parent = unified && join(CGROUP_ROOT, cgroupPath(unified))
  const gives = parent ? readOr(join(parent, 'cgroup.subtree_control'), '').split(/\s+/) : []
  return parent && gives.includes('pids') ? ifWritable(parent) : undefined
}

let isSwept = false

export function createCgroup(id: string, processes: number): Cgroup | undefined {
  const parent = pidsCgroupParent()
  if (parent === undefined) return undefined
  if (!isSwept) removeStaleCgroups(parent)
  isSwept = true
  const folder = join(parent, `troupe-${process.pid}-${id}`)
  try {
    mkdirSync(folder)
    writeFileSync(join(folder, 'pids.max'), String(processes))
  } catch {
    return undefined
  }
  return { procsFile: join(folder, 'cgroup.procs'), remove: () => removeCgroup(folder) }
}

/** Takes away the groups of processes that ended before they could do it themselves. */
function removeStaleCgroups(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^troupe-(\d+)-/.exec(name) ?? []
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue
    try {
      rmdirSync(join(parent, name))
    } catch {
      // Someone else was faster, or something in it still lives.
    }
  }
}

async function removeCgroup(folder: string): Promise<void> {
  // A group is empty only when the kernel has buried the last of its processes.
  for (const wait of [0, 5, 20, 100, 500, 2000]) {
    if (wait > 0) await delay(wait)
    try {
      rmdirSync(folder)
      return
    } catch {
      // Not yet.
    }
  }
}

function cgroupPath(line: string): string {
  return line.slice(line.indexOf(':', line.indexOf(':') + 1) + 1)
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
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
