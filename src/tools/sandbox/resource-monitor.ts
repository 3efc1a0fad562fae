import { readFileSync } from 'node:fs'
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
  let processes = 0
  let memory_kb = 0
  // bubblewrap itself uses up to four processes.
  for (let next = queue.pop(); next !== undefined && processes <= maxProcesses + 4; next = queue.pop()) {
    processes++
    memory_kb += Number(readOrEmpty(`/proc/${next}/statm`).split(' ')[1] ?? 0) * PAGE_KB
    queue.push(...readOrEmpty(`/proc/${next}/task/${next}/children`).split(' ').filter(Boolean).map(Number))
  }
  return { processes: Math.max(0, processes - 4), memory_kb }
}

/** The process may have exited meanwhile. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
