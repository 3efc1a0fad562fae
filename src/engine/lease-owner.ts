import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { shortHash } from '../kernel/hash.ts'

/*
 * Identifies the process that owns a lease, so that another process can take over a dead owner's run at once instead of waiting for
 * the lease to expire.
 * 1. Only a certainly dead owner is dead. A process id means something only where it was given: in the same PID namespace of the same
 *    boot. Containers that share a volume may share a hostname too, and see each other's process ids as free or as their own.
 * 2. The start time guards against reuse of the process id.
 */

export function leaseOwnerId(nonce: string): string {
  return [hostname(), process.pid, processStat('self')?.start ?? '-', processScope(), nonce].join('|')
}

/** True only if the owner is known to be dead; false if it is alive, cannot be seen from here, or cannot be checked. */
export function isOwnerDead(owner: string): boolean {
  const [host, pidText, start, scope] = owner.split('|')
  const pid = Number(pidText)
  // Our own pid is checked too: a restarted container often gives the same pid to its next process.
  if (!scope || !Number.isInteger(pid) || pid < 1 || !isSameScope(scope, host)) return false
  try {
    process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH'
  }
  const stat = seesOwnProcesses() ? processStat(pid) : undefined
  return stat !== undefined && (stat.isZombie || (start !== '-' && start !== stat.start))
}

/** Without /proc there are no namespaces either, except on Linux: a container may hide it. */
function isSameScope(scope: string, host: string | undefined): boolean {
  if (scope !== processScope()) return false
  return scope !== UNKNOWN_SCOPE || (process.platform !== 'linux' && host === hostname())
}

const UNKNOWN_SCOPE = '-'
let knownScope: string | undefined

/**
 * The boot with its PID namespace, and its time namespace, on which start times depend. Where the id of a namespace is used again, the
 * old namespace is gone with all its processes. The machine needs no id of its own: no two boots have the same.
 */
function processScope(): string {
  knownScope ??= readScope()
  return knownScope
}

function readScope(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return shortHash([boot, ...['pid', 'time'].map(namespaceId)].join('/'))
  } catch {
    return UNKNOWN_SCOPE
  }
}

function namespaceId(kind: string): string {
  try {
    return readlinkSync(`/proc/self/ns/${kind}`).replace(/\D/g, '')
  } catch (thrown) {
    if (kind === 'pid') throw thrown
    return '' // Before Linux 5.6 there are no time namespaces.
  }
}

/** False where /proc is that of another PID namespace, as after `unshare --pid` without `--mount-proc`: its ids are other processes. */
function seesOwnProcesses(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid)
  } catch {
    return false
  }
}

/** The start time is in clock ticks since boot; `undefined` without /proc, or if there is no such process. */
function processStat(pid: number | 'self'): { start: string; isZombie: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { start: fields[19] ?? '', isZombie: 'ZX'.includes(fields[0] ?? '-') }
  } catch {
    return undefined
  }
}
