import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Ends a program that was started as the first of its process group, and all others in it. */
export function killProcessGroup(pid: number): void {
  sendSignal(-pid, 'SIGKILL')
}

/**
 * Ends a sandbox with everything in it. While it is being made its processes neither die with the first one nor stay in its
 * group, so each is found and stopped before its children are looked for: one that is stopped makes no more.
 */
export function killSandbox({ pid, exitCode, signalCode }: ChildProcess): void {
  // Its number may be another's by now.
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  const found = [pid]
  for (const each of found) {
    sendSignal(each, 'SIGSTOP')
    found.push(...childPids(each))
  }
  for (const each of found) sendSignal(each, 'SIGKILL')
  killProcessGroup(pid)
}

function childPids(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
