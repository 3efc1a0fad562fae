import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import type { Workspace } from '../files/workspace.ts'
import { findFirstLink } from './protected-links.ts'
import type { SandboxAccess, SandboxOptions } from './sandbox.ts'
import type { FolderScans } from './workspace-guard.ts'
import { writeProtectedPaths } from './workspace-guard.ts'

/** File system access of a command. Everything that is not listed is hidden. */
export interface FilePolicy {
  denyRead: string[]
  allowRead: string[]
  allowWrite: string[]
  denyWrite: string[]
}

/** Programs and libraries. Home folders, `/var`, `/srv`, `/opt`, `/run` and `/mnt` stay hidden. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']

/** The parts of `/etc` that programs need; excludes password hashes, keys and service configuration. */
const ETC_PATHS = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'debian_version',
  'fonts',
  'group',
  // Needed to resolve localhost.
  'hosts',
  'java',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'passwd',
  'perl',
  'pki/tls/certs',
  'protocols',
  'python3',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
].map((name) => `/etc/${name}`)

interface FilePolicyRequest {
  helpers: readonly string[]
  /** Whether the workspace is writable. */
  write: boolean
  longRunning?: boolean
  access?: SandboxAccess | undefined
  scans?: FolderScans
}

export function createFilePolicy(
  workspace: Workspace,
  options: SandboxOptions,
  { helpers, write, longRunning, access = {}, scans }: FilePolicyRequest,
): FilePolicy {
  const [extraRead, extraWrite] = [access.read ?? [], access.write ?? []].map((paths) =>
    paths.map((path) => resolve(workspace.realPath, path)),
  ) as [string[], string[]]
  const hidden = [join(workspace.realPath, TROUPE_FOLDER), ...(workspace.hide ?? [])]
  const own = [...SYSTEM_FOLDERS, ...ETC_PATHS, ...nodeInstallation(), ...helpers, ...(options.read ?? [])]
  const readable = [...own, ...extraRead, ...extraWrite]
  const writable = [...(write ? [workspace.realPath, ...(options.write ?? [])] : []), ...extraWrite]
  const writeProtected = writable.length > 0 ? writeProtectedPaths(workspace, writable, scans) : []
  return {
    denyRead: ['/', ...hidden],
    allowRead: [...readable.filter((path) => existsSync(path)), workspace.realPath, ...(options.write ?? [])],
    allowWrite: writable,
    denyWrite: [...hidden, ...(longRunning ? longRunningWriteDenials(workspace, writeProtected) : writeProtected)],
  }
}

/**
 * The paths of the running Node installation, so that commands can use it. Only Node's own files: a prefix such as `~/.local`
 * also contains private files.
 */
export function nodeInstallation(program = process.execPath): string[] {
  const folder = dirname(program)
  const modules = join(dirname(folder), 'lib', 'node_modules')
  if (basename(folder) !== 'bin' || !holdsOnlyNode(folder, { program, modules })) return [program]
  return [folder, modules, join(dirname(folder), 'include', 'node')]
}

/** Whether a `bin` folder contains only Node and symlinks to its packages, such as npm. */
function holdsOnlyNode(folder: string, { program, modules }: { program: string; modules: string }): boolean {
  return readdirSync(folder).every((name) => {
    const path = join(folder, name)
    return path === program || isWithin(resolveRealPath(path), resolveRealPath(modules))
  })
}

/**
 * Write denials for a long-running process, whose changes cannot be repaired at its exit. Whole `.git` folders are read-only
 * (a `commondir` file created there would redirect git to other hooks), and so are folders with a symlink to a protected
 * path. The workspace root must stay writable: symlinks in it are restored after each call.
 */
function longRunningWriteDenials(workspace: Workspace, writeProtected: readonly string[]): string[] {
  const folders = new Set(
    writeProtected.flatMap((path) => {
      if (basename(path) === 'config.worktree') return dirname(path)
      const parent = findFirstLink(workspace, path)?.segments.slice(0, -1) ?? []
      return parent.length > 0 ? join(workspace.realPath, ...parent) : []
    }),
  )
  return [...folders, ...writeProtected.filter((path) => ![...folders].some((folder) => isWithin(path, folder)))]
}
