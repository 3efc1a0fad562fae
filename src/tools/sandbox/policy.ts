import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { OWN_FOLDER } from '../files/protected.ts'
import type { Workspace } from '../files/workspace.ts'
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
  { helpers, write }: { helpers: readonly string[]; write: boolean },
): FilePolicy {
  const own = join(workspace.real, OWN_FOLDER)
  const readable = [...SYSTEM, ...SETTINGS, ...nodeInstallation(), ...helpers, ...(options.read ?? [])]
  const writable = write ? [workspace.real, ...(options.write ?? [])] : []
  return {
    denyRead: ['/', own],
    allowRead: [...readable.filter((path) => existsSync(path)), workspace.real, ...(options.write ?? [])],
    allowWrite: writable,
    denyWrite: [own, ...(write ? guardedPlaces(workspace, writable) : [])],
  }
}

/** The Node that runs us, wherever it is installed: commands use it too. */
export function nodeInstallation(): string[] {
  const folder = dirname(process.execPath)
  const prefix = basename(folder) === 'bin' ? dirname(folder) : folder
  return [homedir(), dirname(homedir()), '/', '/usr'].includes(prefix) ? [folder] : [prefix]
}
