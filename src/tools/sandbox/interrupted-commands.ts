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
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isWithin } from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { pathSegments } from '../files/workspace.ts'
import { findProgram } from '../search/ripgrep.ts'
import type { WriteScope } from './config-guard.ts'
import { quarantineNewConfig } from './config-guard.ts'
import type { RepositoryState } from './git-guard.ts'
import { GitGuard } from './git-guard.ts'
import type { ProcessIdentity } from './process-identity.ts'
import { identifyProcess, isAlive, isInOtherNamespace } from './process-identity.ts'
import type { ProtectedLink } from './protected-links.ts'
import { restoreProtectedLinks } from './protected-links.ts'
import { hostProgramPath } from './trusted-path.ts'

/*
 * Sandbox escape by killing Troupe: a command plants a repository that runs a program, and the process that would check it is killed.
 * 1. A command starts only after the state of the workspace before it is on disk, in a folder of the user that commands cannot write.
 * 2. A record whose process is dead is checked by the watchdog (command-watchdog.ts) and by every later start; whichever is first.
 *    Checking twice is harmless.
 * 3. Processes of the command are dead before the check counts.
 * 4. A command of another container may still be running: its workspace is checked, its record and its mount points stay for a day.
 * 5. A record that other users could have written is not used: it names files to rename.
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
  scope: WriteScope
  /** Paths in the workspace that the sandbox creates, empty, and removes after the command. */
  mountPoints: readonly string[]
}

const MARKER = /^troupe-command-[0-9a-f]{24}$/
const RECORD = '.command.json'
const NOTES = '.notes.json'

/** A text that no other command line contains. */
export function createMarker(): string {
  return `troupe-command-${randomBytes(12).toString('hex')}`
}

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

const NO_REPOSITORIES: RepositoryState = { roots: [], known: [], fingerprints: [], execLines: [], commondirs: [] }
const NO_SCOPE: WriteScope = { allowWrite: [], denyWrite: [] }

/** Records folders that are about to be created for a command, so that they can be removed; the returned function removes the record. */
export function recordFolders(
  records: string | undefined,
  { realPath }: Workspace,
  traces: Pick<CommandRecord, 'marker' | 'mountPoints'>,
): () => void {
  if (records === undefined || traces.mountPoints.length === 0) return () => {}
  return recordCommand(records, {
    workspace: realPath,
    ...traces,
    repositories: NO_REPOSITORIES,
    scope: NO_SCOPE,
    links: [],
  })
}

/** Checks the workspaces of commands whose process was killed. Returns notes about repairs, each once, and problems. */
export function recoverCommands(folder: string): string[] {
  const problems = checkInterruptedCommands(folder)
  const notes = listFiles(folder, NOTES).flatMap((path) => {
    const read = readPrivate<string[]>(path)
    rmSync(path, { force: true })
    return read ?? []
  })
  return [...notes, ...problems]
}

/** Leaves the notes for the next start: the watchdog has nobody to tell. Returns problems; a failure must not stop any command. */
export function checkInterruptedCommands(folder: string): string[] {
  return listFiles(folder, RECORD).flatMap((path) => {
    try {
      const record = readPrivate<CommandRecord>(path)
      if (record && isAlive(record.owner)) return []
      const mayBeAlive = record !== undefined && isInOtherNamespace(record.owner)
      const notes = record ? checkCommand(record, mayBeAlive) : []
      if (notes.length > 0) writeDurably(path.slice(0, -RECORD.length) + NOTES, notes)
      // Its own watchdog needs the record.
      if (!mayBeAlive || isOld(path)) rmSync(path, { force: true })
      return []
    } catch (thrown) {
      return [`Troupe was killed during a command, which cannot be checked: ${String(thrown)}; see ${path}`]
    }
  })
}

const DAY_MS = 24 * 3_600_000
const isOld = (path: string) => Date.now() - lstatSync(path).mtimeMs > DAY_MS

function checkCommand(record: CommandRecord, mayBeAlive: boolean): string[] {
  const { workspace, repositories, links, scope, marker } = record
  const guard = new GitGuard(findProgram('git', hostProgramPath([workspace, ...repositories.roots])))
  const check = () => [
    ...restoreProtectedLinks(workspace, links),
    ...guard.check(repositories),
    ...quarantineNewConfig(scope),
  ]
  endProcesses(String(marker))
  // Sandbox escape: the kernel unmounts what is mounted on a removed file, also in the sandbox of a command that is still running.
  if (!mayBeAlive) removeMountPoints(record)
  const notes = check()
  // A killed process may be inside a last system call, which no longer shows to whom it belongs.
  sleep(SETTLE_MS)
  return [...notes, ...check()].map((note) => `Troupe was killed during a command in ${workspace}: ${note}`)
}

/** The deepest first, and only what is still empty: anything else is somebody's work. */
function removeMountPoints({ workspace, mountPoints }: CommandRecord): void {
  const inside = mountPoints.filter((path) => isWithin(path, workspace))
  for (const path of inside.toSorted((a, b) => b.length - a.length)) {
    const segments = pathSegments(path.slice(workspace.length))
    try {
      withLinkFreeFolder(workspace, segments.slice(0, -1), (folder) => removeIfEmpty(`${folder}/${segments.at(-1)}`))
    } catch {
      // Gone, or not ours to remove.
    }
  }
}

function removeIfEmpty(path: string): void {
  const stat = lstatSync(path)
  if (stat.isDirectory()) rmdirSync(path)
  else if (stat.isFile() && stat.size === 0) unlinkSync(path)
}

const SETTLE_MS = 200
const MAX_WAIT_MS = 5_000

/** Kills processes with the marker in their command line, among them the first of the pid namespace, with which all others end. */
function endProcesses(marker: string): void {
  // An empty or short text would match processes of others.
  if (!MARKER.test(marker)) throw new TypeError('the record has no valid marker')
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
