import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../search/ripgrep.ts'
import type { RepositoryState } from './git-guard.ts'
import { GitGuard } from './git-guard.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { identifyProcess, isAlive } from './process-identity.ts'
import type { ProtectedLink } from './protected-links.ts'
import { restoreProtectedLinks } from './protected-links.ts'
import { trustedPath } from './trusted-path.ts'

/*
 * Sandbox escape by killing Troupe: a command plants a repository that runs a program, and the process that would check it is killed.
 * 1. A command starts only after the state of the workspace before it is on disk, in a folder of the user that commands cannot write.
 * 2. A record whose process is dead is checked by the watchdog (command-watchdog.ts) and by every later start; whichever is first.
 *    Checking twice is harmless.
 * 3. Processes of the command are dead before the check counts.
 * 4. A record that other users could have written is not used: it names files to rename.
 */

/** The state before a command, and how to find its processes. */
export interface CommandRecord {
  /** The real path of the workspace. */
  workspace: string
  /** Part of the command line of the sandbox. */
  marker: string
  owner: ProcessIdentity
  repositories: RepositoryState
  links: readonly ProtectedLink[]
}

const RECORD = '.command.json'
const NOTES = '.notes.json'

/** Creates the folder; `undefined` where that fails, such as in a home folder that cannot be written. */
export function createRecordFolder(folder: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  } catch {
    return undefined
  }
}

/** Writes a record; the returned function removes it. Does nothing without /proc. */
export function recordCommand(folder: string, command: Omit<CommandRecord, 'owner'>): () => void {
  const owner = identifyProcess(process.pid)
  if (owner === undefined) return () => {}
  const path = join(folder, randomBytes(12).toString('hex') + RECORD)
  try {
    writeDurably(path, { ...command, owner } satisfies CommandRecord)
  } catch {
    // A full disk: the command is checked at its end only.
    return () => {}
  }
  return () => rmSync(path, { force: true })
}

/** Checks the workspaces of commands whose process was killed. Returns notes about repairs, each once. */
export function recoverCommands(folder: string): string[] {
  checkInterruptedCommands(folder)
  return listFiles(folder, NOTES).flatMap((path) => {
    const notes = readPrivate<string[]>(path)
    rmSync(path, { force: true })
    return notes ?? []
  })
}

/** Leaves the notes for the next start: the watchdog has nobody to tell. */
export function checkInterruptedCommands(folder: string): void {
  for (const path of listFiles(folder, RECORD)) {
    const record = readPrivate<CommandRecord>(path)
    if (record && isAlive(record.owner)) continue
    const notes = record ? checkCommand(record) : []
    if (notes.length > 0) writeDurably(path.slice(0, -RECORD.length) + NOTES, notes)
    rmSync(path, { force: true })
  }
}

function checkCommand(record: CommandRecord): string[] {
  const { workspace, repositories, links, marker } = record
  const guard = new GitGuard(findProgram('git', trustedPath([workspace, ...repositories.roots])))
  const check = () => [...restoreProtectedLinks(workspace, links), ...guard.check(repositories)]
  endProcesses(marker)
  const notes = check()
  // A killed process may be inside a last system call, which no longer shows to whom it belongs.
  sleep(SETTLE_MS)
  return [...notes, ...check()].map((note) => `Troupe was killed during a command in ${workspace}: ${note}`)
}

const SETTLE_MS = 200
const MAX_WAIT_MS = 5_000

/** Kills processes with the marker in their command line, among them the first of the pid namespace, with which all others end. */
function endProcesses(marker: string): void {
  for (let waited = 0; waited < MAX_WAIT_MS; waited += 10) {
    const pids = processesWith(marker)
    if (pids.length === 0) return
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Already exited.
      }
    }
    sleep(10)
  }
}

function processesWith(marker: string): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return pid !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(marker)
    } catch {
      return false
    }
  })
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function listFiles(folder: string, ending: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(ending))
    return names.map((name) => join(folder, name))
  } catch {
    return []
  }
}

/** `undefined` for a file that is incomplete, or that another user owns or may write. */
function readPrivate<T>(path: string): T | undefined {
  try {
    const stat = lstatSync(path)
    const isPrivate = stat.isFile() && stat.uid === process.getuid?.() && (stat.mode & 0o022) === 0
    return isPrivate ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined
  } catch {
    return undefined
  }
}

/** On the disk before the command starts: a power failure must not keep what it wrote and lose the record. */
function writeDurably(path: string, value: unknown): void {
  const temporary = `${path}.tmp`
  const fd = openSync(temporary, 'w', 0o600)
  try {
    writeFileSync(fd, JSON.stringify(value))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, path)
}
