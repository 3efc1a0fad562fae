import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/*
 * Names the process that owns a lease, so that another process on the same machine can tell at once that it is gone
 * instead of waiting for the lease to run out. A reused process id is told apart by its start time.
 */

export function leaseOwnerId(nonce: string): string {
  return [hostname(), process.pid, processStartTime(process.pid) ?? '-', nonce].join('|')
}

/** True only when the owner is known to be gone; false when it lives or nobody here can tell. */
export function isOwnerDead(owner: string): boolean {
  const [host, pidText, start] = owner.split('|')
  const pid = Number(pidText)
  // Our own id is asked about too: a container that was restarted often gives the same one to its next process.
  if (host !== hostname() || !Number.isInteger(pid) || pid < 1) return false
  try {
    process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ESRCH'
  }
  return start !== '-' && start !== processStartTime(pid)
}

/** The process's start time in clock ticks since boot, where /proc tells it. */
function processStartTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
