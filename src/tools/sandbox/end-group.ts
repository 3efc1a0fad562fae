import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Ends a program that was started as the first of its process group, and all others in it. */
export function endGroup(pid: number): void {
  signal(-pid, 'SIGKILL')
}

/**
 * Ends a sandbox with everything in it. While it is being made its processes neither die with the first one nor stay in its
 * group, so each is found and stopped before its children are looked for: one that is stopped makes no more.
 */
export function endSandbox({ pid, exitCode, signalCode }: ChildProcess): void {
  // Its number may be another's by now.
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  const found = [pid]
  for (const each of found) {
    signal(each, 'SIGSTOP')
    found.push(...childrenOf(each))
  }
  for (const each of found) signal(each, 'SIGKILL')
  endGroup(pid)
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}
