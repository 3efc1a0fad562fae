import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseCommandLine, unknownCommandLineError } from './command-line.ts'
import { CLOSE_INHERITED_FDS } from './exec-arguments.ts'
import type { FilePolicy } from './file-policy.ts'

/*
 * The use of @anthropic-ai/sandbox-runtime, and what it lacks for us.
 * 1. Its manager is one for the process. Files are given with each command; hosts are registered with each command under an
 *    id that nobody can guess; without hosts there is no proxy at all.
 * 2. As root its helper would give the command a fresh /proc in which the machine's settings can be written: a sandbox
 *    with a door (`core_pattern` runs a program as root). So as root it is left out, /proc/sys and its like are covered,
 *    and our own filter stands in for it.
 * 3. The private folders of a command are memory; they get a size.
 */

type Runtime = typeof import('@anthropic-ai/sandbox-runtime')
type Manager = Runtime['SandboxManager']

const IS_ROOT = process.geteuid?.() === 0

/** Never reached from inside, whatever a name resolves to. */
const PRIVATE_ADDRESSES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']

/** Written by root, these change the machine, and root's own user id is all that they ask for. */
const MASKED_PROC_ENTRIES = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'scsi', 'fs', 'driver', 'mtrr', 'tty']

/** Programs of the host, by absolute paths that no agent can write. */
export interface HostPrograms {
  bwrap: string
  rg: string
  socat: string | undefined
}

export interface WrapOptions {
  files: FilePolicy
  programs: HostPrograms
  hosts: readonly string[]
  scratch_mb: number
  /** For this command alone, and unguessable. */
  id: string
  signal?: AbortSignal
}

export interface WrappedCommand {
  /** The program and its arguments. */
  argv: string[]
  /** The filter that has to be handed over as descriptor 3. */
  filter: { unixSockets: boolean }
  cleanUp(): void
}

/** Places that the runtime needs to see from inside. */
export function runtimeFolders(): string[] {
  const entry = fileURLToPath(import.meta.resolve('@anthropic-ai/sandbox-runtime'))
  return [`${dirname(dirname(entry))}/vendor`]
}

let managerReady: Promise<Manager> | undefined
let isProxyRunning = false
/** Sandboxes with hosts that are open: while there is one, the proxy runs and keeps this process alive. */
let openProxyUsers = 0

/** Says that commands with hosts will come; returns how to say that no more will. */
export function acquireProxy(): () => Promise<void> {
  openProxyUsers++
  let over = false
  return async () => {
    if (over) return
    over = true
    openProxyUsers--
    if (openProxyUsers > 0 || !isProxyRunning) return
    const runtime = await managerReady
    isProxyRunning = false
    managerReady = undefined
    await runtime?.reset()
  }
}

async function openManager({ hosts, programs }: WrapOptions): Promise<Manager> {
  const { SandboxManager } = await import('@anthropic-ai/sandbox-runtime')
  if (hosts.length > 0 && !isProxyRunning) {
    isProxyRunning = true
    managerReady = SandboxManager.initialize(runtimeConfig(programs)).then(() => SandboxManager)
  } else if (!managerReady) {
    SandboxManager.updateConfig(runtimeConfig(programs))
    managerReady = Promise.resolve(SandboxManager)
  }
  return managerReady
}

function runtimeConfig({ bwrap, rg, socat }: HostPrograms) {
  return {
    bwrapPath: bwrap,
    ripgrep: { command: rg },
    ...(socat === undefined ? undefined : { socatPath: socat }),
    network: {
      allowedDomains: [],
      deniedDomains: [],
      deniedResolvedAddresses: PRIVATE_ADDRESSES,
      ...(IS_ROOT ? { allowAllUnixSockets: true } : undefined),
    },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
  }
}

export async function wrapCommand(command: string, wrapping: WrapOptions): Promise<WrappedCommand> {
  const runtime = await openManager(wrapping)
  // The way to the proxy leads through sockets in a folder that is hidden like any other.
  const relays = [runtime.getLinuxHttpSocketPath(), runtime.getLinuxSocksSocketPath()]
  const visible = wrapping.hosts.length === 0 ? [] : relays.filter((path) => path !== undefined)
  const custom = {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { ...wrapping.files, allowRead: [...wrapping.files.allowRead, ...visible] },
  }
  const script = await runtime.wrapWithSandbox(command, 'bash', custom, wrapping.signal, { commandId: wrapping.id })
  if (wrapping.hosts.length > 0) {
    runtime.registerCommandNetworkLists(wrapping.id, { allowedDomains: [...wrapping.hosts] })
  }
  const cleanUp = () => {
    if (wrapping.hosts.length > 0) runtime.unregisterCommandNetworkLists(wrapping.id)
    runtime.cleanupAfterCommand()
  }
  // Root's relays to the proxy are sockets in the file system; the helper that could tell them apart is left out.
  const filter = { unixSockets: !IS_ROOT || wrapping.hosts.length > 0 }
  try {
    return { argv: hardenCommand(parseCommandLine(script), wrapping), filter, cleanUp }
  } catch (thrown) {
    cleanUp()
    throw thrown
  }
}

/** Fails rather than runs a command whose sandbox it does not understand. */
export function hardenCommand(
  words: readonly string[],
  { programs, scratch_mb }: Pick<WrapOptions, 'programs' | 'scratch_mb'>,
  isRoot = IS_ROOT,
): string[] {
  const end = words.indexOf('--')
  const head = words.slice(1, end)
  const procs = head.filter((word, at) => word === '--proc' && head[at + 1] === '/proc')
  const [, shell = '', c, script, ...more] = words.slice(end)
  const isKnown = words[0] === programs.bwrap && procs.length === 1 && shell.endsWith('/bash') && c === '-c'
  if (end === -1 || !isKnown || script === undefined || more.length > 0) throw unknownCommandLineError()
  const size = ['--size', String(scratch_mb * 1024 * 1024)]
  const sized = head.flatMap((word) => (word === '--tmpfs' ? [...size, word] : [word]))
  const proc = sized.indexOf('--proc') + 2
  const covers = MASKED_PROC_ENTRIES.map((name) => `/proc/${name}`)
    .filter((path) => existsSync(path))
    .flatMap((path) => ['--ro-bind', path, path])
  const covered = isRoot ? sized.toSpliced(proc, 0, ...covers) : sized
  return [programs.bwrap, ...SECCOMP_ARGS, ...covered, '--', shell, '-c', `${CLOSE_INHERITED_FDS}\n${script}`]
}

/** The filter for system calls comes through this descriptor. */
const SECCOMP_ARGS = ['--seccomp', '3']

/** Where there is no filter for this machine, a descriptor that is not there would end the sandbox before it begins. */
export function withoutSeccomp(words: readonly string[]): string[] {
  return words.toSpliced(1, SECCOMP_ARGS.length)
}
