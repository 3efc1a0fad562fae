import { readFileSync, readlinkSync } from 'node:fs'

/** A process across pid reuse, reboots and containers. */
export interface ProcessIdentity {
  pid: number
  /** In clock ticks since boot. */
  start: string
  boot: string
  pidNamespace: string
}

/** `undefined` without /proc. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const status = readStatus(pid)
  return status && { pid, start: status.start, boot: bootId(), pidNamespace: pidNamespace() }
}

/** False for a process that cannot be seen from here, such as one of another container, and for a zombie. */
export function isAlive({ pid, start, boot, pidNamespace: namespace }: ProcessIdentity): boolean {
  if (boot !== bootId() || namespace !== pidNamespace()) return false
  const status = readStatus(pid)
  return status !== undefined && status.start === start && !'ZX'.includes(status.state)
}

/** Whether a process of this machine cannot be seen from here, such as one of another container: it may be alive. */
export function isInOtherNamespace({ boot, pidNamespace: namespace }: ProcessIdentity): boolean {
  return boot === bootId() && namespace !== pidNamespace()
}

function readStatus(pid: number): { state: string; start: string } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', start: fields[19] ?? '' }
  } catch {
    return undefined
  }
}

const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
const pidNamespace = () => readlinkSync('/proc/self/ns/pid')
