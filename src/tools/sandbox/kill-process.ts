import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Signals a process group by the pid of its leader; where there are no groups (Windows), the leader alone. */
export function signalProcessGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid !== undefined) sendSignal(process.platform === 'win32' ? pid : -pid, signal)
}

/**
 * Kills a sandbox with all its processes. While bubblewrap is still setting up, its processes neither die with the parent nor
 * stay in its group. Prevents a fork race: each process is stopped with SIGSTOP before its children are listed.
 */
export function killSandbox({ pid, exitCode, signalCode }: ChildProcess): void {
  // Pid reuse: after the exit, the pid may belong to another process.
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  const pids = [pid]
  for (const current of pids) {
    sendSignal(current, 'SIGSTOP')
    pids.push(...childPids(current))
  }
  for (const current of pids) sendSignal(current, 'SIGKILL')
  signalProcessGroup(pid, 'SIGKILL')
}

function childPids(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // Already exited.
  }
}
