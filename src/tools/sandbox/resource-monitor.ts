import { readFileSync, readlinkSync, statfsSync } from 'node:fs'
import type { ProcessExit, SandboxLimits } from './sandbox.ts'

const INTERVAL_MS = 200
const PAGE_KB = 4

/**
 * Monitors memory and processes of a whole process tree, which `ulimit` cannot limit in total, and calls `onExceeded`.
 * Returns a function that stops the monitor.
 */
export function monitorResources(
  pid: number,
  limits: Pick<SandboxLimits, 'memory_mb' | 'processes'>,
  onExceeded: (limit: NonNullable<ProcessExit['limit']>) => void,
): () => void {
  const check = () => {
    const { processes, memory_kb } = measureUsage(pid, limits.processes)
    if (processes > limits.processes) onExceeded('processes')
    else if (memory_kb > limits.memory_mb * 1024) onExceeded('memory')
  }
  const timer = setInterval(check, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function measureUsage(pid: number, maxProcesses: number): { processes: number; memory_kb: number } {
  const queue = [pid]
  const namespaces = new Map<string, number>()
  let processes = 0
  let memory_kb = 0
  // bubblewrap itself uses up to four processes.
  for (let next = queue.pop(); next !== undefined && processes <= maxProcesses + 4; next = queue.pop()) {
    processes++
    memory_kb += Number(readOrEmpty(`/proc/${next}/statm`).split(' ')[1] ?? 0) * PAGE_KB
    namespaces.set(mountNamespace(String(next)), next)
    queue.push(...readOrEmpty(`/proc/${next}/task/${next}/children`).split(' ').filter(Boolean).map(Number))
  }
  return { processes: Math.max(0, processes - 4), memory_kb: memory_kb + scratchUsage(namespaces) }
}

/** Files in a tmpfs of the sandbox are memory that belongs to no process. Each file system is counted once. */
function scratchUsage(namespaces: ReadonlyMap<string, number>): number {
  const own = mountNamespace('self')
  const counted = new Set(tmpfsMounts('self').map(({ device }) => device))
  let used_kb = 0
  for (const [namespace, pid] of namespaces) {
    if (namespace === own || namespace === '') continue
    for (const { device, folder } of tmpfsMounts(String(pid))) {
      if (counted.has(device)) continue
      counted.add(device)
      used_kb += usedSpace(`/proc/${pid}/root${folder}`)
    }
  }
  return used_kb
}

function tmpfsMounts(pid: string): { device: string; folder: string }[] {
  return readOrEmpty(`/proc/${pid}/mountinfo`)
    .split('\n')
    .filter((line) => line.includes(' - tmpfs '))
    .map((line) => line.split(' '))
    .map(([, , device = '', , folder = '']) => ({ device, folder: unescapeMountPath(folder) }))
}

/** The kernel writes a space in a path as `\040`. */
function unescapeMountPath(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}

function mountNamespace(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`)
  } catch {
    return ''
  }
}

/** The kilobytes of a file system that are in use. It may be gone, or another mount may hide it. */
function usedSpace(folder: string): number {
  try {
    const { blocks, bfree, bsize } = statfsSync(folder)
    return ((blocks - bfree) * bsize) / 1024
  } catch {
    return 0
  }
}

/** The process may have exited meanwhile. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
