import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/*
 * Identifies the process that owns a lease, so that another process on the same machine can take over a dead owner's run
 * at once instead of waiting for the lease to expire. The start time guards against reuse of the process id.
 */

export function leaseOwnerId(nonce: string): string {
  return [hostname(), process.pid, processStartTime(process.pid) ?? '-', nonce].join('|')
}

/** True only if the owner is known to be dead; false if it is alive, on another machine, or cannot be checked. */
export function isOwnerDead(owner: string): boolean {
  const [host, pidText, start] = owner.split('|')
  const pid = Number(pidText)
  // Our own pid is checked too: a restarted container often gives the same pid to its next process.
  if (host !== hostname() || !Number.isInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH'
  }
  return start !== '-' && start !== processStartTime(pid)
}

/** The process's start time in clock ticks since boot; `undefined` without /proc. */
function processStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
