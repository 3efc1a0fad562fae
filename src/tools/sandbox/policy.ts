import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { OWN_FOLDER } from '../files/protected.ts'
import { isWithin, realPlace } from '../files/protected-places.ts'
import type { Workspace } from '../files/workspace.ts'
import { heldStill } from './held-still.ts'
import type { SandboxOptions } from './sandbox.ts'
import { guardedPlaces } from './workspace-guard.ts'

/** What a command sees of the file system: everything is hidden that is not named here. */
export interface FilePolicy {
  denyRead: string[]
  allowRead: string[]
  allowWrite: string[]
  denyWrite: string[]
}

/** Programs and libraries. Homes, `/var`, `/srv`, `/opt`, `/run`, `/mnt` and the like stay hidden. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']

/** The parts of `/etc` that programs need to start; passwords, keys and hosts' settings are not among them. */
const SETTINGS = [
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

export function filePolicy(
  workspace: Workspace,
  options: SandboxOptions,
  { helpers, write, serves }: { helpers: readonly string[]; write: boolean; serves?: boolean },
): FilePolicy {
  const unseen = [join(workspace.real, OWN_FOLDER), ...(workspace.hide ?? [])]
  const readable = [...SYSTEM, ...SETTINGS, ...nodeInstallation(), ...helpers, ...(options.read ?? [])]
  const writable = write ? [workspace.real, ...(options.write ?? [])] : []
  const guarded = write ? guardedPlaces(workspace, writable) : []
  return {
    denyRead: ['/', ...unseen],
    allowRead: [...readable.filter((path) => existsSync(path)), workspace.real, ...(options.write ?? [])],
    allowWrite: writable,
    denyWrite: [...unseen, ...(serves ? heldStill(workspace, guarded) : guarded)],
  }
}

/**
 * The Node that runs us, wherever it is installed: commands use it too. Only what is Node's own: it may have been unpacked
 * into a folder that holds a person's other things, such as `~/.local`.
 */
export function nodeInstallation(program = process.execPath): string[] {
  const folder = dirname(program)
  const modules = join(dirname(folder), 'lib', 'node_modules')
  if (basename(folder) !== 'bin' || !isNodesOwn(folder, { program, modules })) return [program]
  return [folder, modules, join(dirname(folder), 'include', 'node')]
}

/** Whether a folder of programs holds Node and links to its packages, such as npm, and nothing else. */
function isNodesOwn(folder: string, { program, modules }: { program: string; modules: string }): boolean {
  return readdirSync(folder).every((name) => {
    const path = join(folder, name)
    return path === program || isWithin(realPlace(path), realPlace(modules))
  })
}
