import { readFileSync } from 'node:fs'
import type { ProcessExit, SandboxLimits } from './sandbox.ts'

const INTERVAL_MS = 200
const PAGE_KB = 4

/**
 * Watches what a command and all it started use together, which no limit of the shell can bound, and calls `over` once it
 * is too much.
 */
export function monitorResources(
  pid: number,
  limits: Pick<SandboxLimits, 'memory_mb' | 'processes'>,
  over: (limit: NonNullable<ProcessExit['limit']>) => void,
): () => void {
  const look = () => {
    const { processes, memory_kb } = measureUsage(pid, limits.processes)
    if (processes > limits.processes) over('processes')
    else if (memory_kb > limits.memory_mb * 1024) over('memory')
  }
  const timer = setInterval(look, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function measureUsage(pid: number, most: number): { processes: number; memory_kb: number } {
  const waiting = [pid]
  let processes = 0
  let memory_kb = 0
  // The sandbox itself has up to four processes.
  for (let next = waiting.pop(); next !== undefined && processes <= most + 4; next = waiting.pop()) {
    processes++
    memory_kb += Number(readOrEmpty(`/proc/${next}/statm`).split(' ')[1] ?? 0) * PAGE_KB
    waiting.push(...readOrEmpty(`/proc/${next}/task/${next}/children`).split(' ').filter(Boolean).map(Number))
  }
  return { processes: Math.max(0, processes - 4), memory_kb }
}

/** A process that ended meanwhile uses nothing. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
