import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import type { Workspace } from '../files/workspace.ts'
import { findFirstLink } from './protected-links.ts'
import type { SandboxOptions } from './sandbox.ts'
import { writeProtectedPaths } from './workspace-guard.ts'

/** What a command sees of the file system: everything is hidden that is not named here. */
export interface FilePolicy {
  denyRead: string[]
  allowRead: string[]
  allowWrite: string[]
  denyWrite: string[]
}

/** Programs and libraries. Homes, `/var`, `/srv`, `/opt`, `/run`, `/mnt` and the like stay hidden. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']

/** The parts of `/etc` that programs need to start; passwords, keys and hosts' settings are not among them. */
const ETC_PATHS = [
  'alternatives',
  'ca-certificates',
  'crypto-policies',
  'debian_version',
  'fonts',
  'group',
  // Without it not even localhost has an address.
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

export function createFilePolicy(
  workspace: Workspace,
  options: SandboxOptions,
  { helpers, write, serves }: { helpers: readonly string[]; write: boolean; serves?: boolean },
): FilePolicy {
  const unseen = [join(workspace.realPath, TROUPE_FOLDER), ...(workspace.hide ?? [])]
  const readable = [...SYSTEM_FOLDERS, ...ETC_PATHS, ...nodeInstallation(), ...helpers, ...(options.read ?? [])]
  const writable = write ? [workspace.realPath, ...(options.write ?? [])] : []
  const guarded = write ? writeProtectedPaths(workspace, writable) : []
  return {
    denyRead: ['/', ...unseen],
    allowRead: [...readable.filter((path) => existsSync(path)), workspace.realPath, ...(options.write ?? [])],
    allowWrite: writable,
    denyWrite: [...unseen, ...(serves ? longRunningWriteDenials(workspace, guarded) : guarded)],
  }
}

/**
 * The Node that runs us, wherever it is installed: commands use it too. Only what is Node's own: it may have been unpacked
 * into a folder that holds a person's other things, such as `~/.local`.
 */
export function nodeInstallation(program = process.execPath): string[] {
  const folder = dirname(program)
  const modules = join(dirname(folder), 'lib', 'node_modules')
  if (basename(folder) !== 'bin' || !holdsOnlyNode(folder, { program, modules })) return [program]
  return [folder, modules, join(dirname(folder), 'include', 'node')]
}

/** Whether a folder of programs holds Node and links to its packages, such as npm, and nothing else. */
function holdsOnlyNode(folder: string, { program, modules }: { program: string; modules: string }): boolean {
  return readdirSync(folder).every((name) => {
    const path = join(folder, name)
    return path === program || isWithin(resolveRealPath(path), resolveRealPath(modules))
  })
}

/**
 * What a program that lives for hours may not write: nobody can put right at its end what it did in between. So folders of
 * git are closed to it as a whole (a file made there could send git to other settings), and so are folders with a link to
 * what is protected. The root of the workspace cannot be closed: links in it are put back after each call.
 */
function longRunningWriteDenials(workspace: Workspace, guarded: readonly string[]): string[] {
  const whole = new Set(
    guarded.flatMap((path) => {
      if (basename(path) === 'config.worktree') return dirname(path)
      const above = findFirstLink(workspace, path)?.segments.slice(0, -1) ?? []
      return above.length > 0 ? join(workspace.realPath, ...above) : []
    }),
  )
  return [...whole, ...guarded.filter((path) => ![...whole].some((folder) => isWithin(path, folder)))]
}
