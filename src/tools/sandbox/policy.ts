import { existsSync, lstatSync, mkdirSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { OWN_FOLDER } from '../files/protected.ts'
import type { Workspace } from '../files/workspace.ts'
import type { SandboxOptions } from './sandbox.ts'

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
  return {
    denyRead: ['/', own],
    allowRead: [...readable.filter((path) => existsSync(path)), workspace.real, ...(options.write ?? [])],
    allowWrite: write ? [workspace.real, ...(options.write ?? [])] : [],
    denyWrite: [own, ...(write ? gitSettings(workspace.real, 3) : [])],
  }
}

/** The Node that runs us, wherever it is installed: commands use it too. */
export function nodeInstallation(): string[] {
  const folder = dirname(process.execPath)
  const prefix = basename(folder) === 'bin' ? dirname(folder) : folder
  return [homedir(), dirname(homedir()), '/', '/usr'].includes(prefix) ? [folder] : [prefix]
}

const MOST_FOLDERS = 2000

/**
 * Hooks and settings of the repositories in the workspace. Whoever runs git there outside the sandbox runs what they say,
 * so commands may not change them.
 */
function gitSettings(folder: string, depth: number, budget = { left: MOST_FOLDERS }): string[] {
  if (budget.left-- <= 0) return []
  const git = join(folder, '.git')
  const there = lstatSync(git, { throwIfNoEntry: false })
  const here = there?.isDirectory() ? repositorySettings(git) : there?.isFile() ? [git] : []
  if (depth === 0) return here
  const below = entriesOf(folder).filter((name) => name !== '.git' && name !== 'node_modules' && name !== OWN_FOLDER)
  return [...here, ...below.flatMap((name) => gitSettings(join(folder, name), depth - 1, budget))]
}

function repositorySettings(git: string): string[] {
  const hooks = join(git, 'hooks')
  // Missing, the folder could be made by a command.
  if (!existsSync(hooks)) mkdirSync(hooks)
  const modules = entriesOf(join(git, 'modules')).map((name) => join(git, 'modules', name))
  return [git, ...modules]
    .flatMap((place) => [join(place, 'hooks'), join(place, 'config')])
    .filter((path) => existsSync(path))
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
  } catch {
    return []
  }
}
