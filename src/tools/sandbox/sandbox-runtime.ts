import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TroupeError, UNBUNDLED_HINT } from '../../errors.ts'
import { parseCommandLine, unknownCommandLineError } from './command-line.ts'
import { CLOSE_INHERITED_FDS } from './exec-arguments.ts'
import type { FilePolicy } from './file-policy.ts'

/*
 * Adapter for @anthropic-ai/sandbox-runtime, with hardening on top.
 * 1. The runtime has one manager per process. File access is passed with each command; allowed hosts are registered per
 *    command under an unguessable id; without hosts there is no proxy.
 * 2. Sandbox escape as root: the runtime's seccomp helper would mount a fresh, writable /proc (`core_pattern` runs a program
 *    as root on the host). As root the helper is not used, /proc/sys and similar entries are masked, and our own seccomp
 *    filter replaces it.
 * 3. Private folders and /dev/shm are tmpfs, that is memory; their size is limited. System V IPC of the host is not shared.
 */

type Runtime = typeof import('@anthropic-ai/sandbox-runtime')
type Manager = Runtime['SandboxManager']

const IS_ROOT = process.geteuid?.() === 0

/** SSRF: blocked even if an allowed host name resolves to them. */
const PRIVATE_ADDRESSES = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7']

/** Entries of /proc that control the host and check only for user id 0. */
const MASKED_PROC_ENTRIES = ['sys', 'sysrq-trigger', 'irq', 'bus', 'acpi', 'scsi', 'fs', 'driver', 'mtrr', 'tty']

/** Absolute paths of host programs, outside of all folders that agents can write. */
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
  /** Unique per command and unguessable. */
  id: string
  signal?: AbortSignal
}

export interface WrappedCommand {
  argv: string[]
  /** Settings of the seccomp filter that the child expects on descriptor 3. */
  filter: { unixSockets: boolean }
  cleanUp(): void
}

/** Folders of the runtime that must be visible inside. */
export function runtimeFolders(): string[] {
  return [`${dirname(dirname(fileURLToPath(runtimeEntry())))}/vendor`]
}

/** Resolved at run time, which keeps it out of bundles: its programs are files, and its CommonJS parts do not run in one. */
function runtimeEntry(): string {
  try {
    return import.meta.resolve('@anthropic-ai/sandbox-runtime')
  } catch (cause) {
    throw new TroupeError(
      'tool_failed',
      'the sandbox needs the package @anthropic-ai/sandbox-runtime, which is missing',
      {
        responsible: 'operator',
        retry: false,
        hint: `${UNBUNDLED_HINT}, and install it where the program runs; or allow commands without it (\`sandbox: 'none'\`)`,
        cause,
      },
    )
  }
}

let managerReady: Promise<Manager> | undefined
let isProxyRunning = false
/** A manager that is initialised meanwhile would lose its proxy. */
let resetting: Promise<void> | undefined
/** Reference count of open sandboxes with network access; the proxy runs until it drops to zero. */
let openProxyUsers = 0

/** Keeps the proxy available for commands with allowed hosts; the returned function releases it. */
export function acquireProxy(): () => Promise<void> {
  openProxyUsers++
  let released = false
  return async () => {
    if (released) return
    released = true
    openProxyUsers--
    if (openProxyUsers > 0 || !isProxyRunning) return
    resetting = managerReady?.then((manager) => manager.reset())
    isProxyRunning = false
    managerReady = undefined
    await resetting
  }
}

async function openManager({ hosts, programs }: WrapOptions): Promise<Manager> {
  const { SandboxManager } = (await import(runtimeEntry())) as Runtime
  if (hosts.length > 0 && !isProxyRunning) {
    isProxyRunning = true
    managerReady = Promise.resolve(resetting)
      .catch(() => {})
      .then(() => SandboxManager.initialize(runtimeConfig(programs)))
      .then(() => SandboxManager)
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

export async function wrapCommand(command: string, options: WrapOptions): Promise<WrappedCommand> {
  const { files, hosts, id, signal } = options
  const manager = await openManager(options)
  // Commands reach the proxy through unix sockets, which are hidden unless listed.
  const proxySockets = [manager.getLinuxHttpSocketPath(), manager.getLinuxSocksSocketPath()]
  const visible = hosts.length === 0 ? [] : proxySockets.filter((path) => path !== undefined)
  const custom = {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { ...files, allowRead: [...files.allowRead, ...visible] },
  }
  const script = await manager.wrapWithSandbox(command, 'bash', custom, signal, { commandId: id })
  if (hosts.length > 0) {
    manager.registerCommandNetworkLists(id, { allowedDomains: [...hosts] })
  }
  const cleanUp = () => {
    if (hosts.length > 0) manager.unregisterCommandNetworkLists(id)
    manager.cleanupAfterCommand()
  }
  // As root the runtime's helper, which could distinguish the proxy's unix sockets from others, is not used.
  const filter = { unixSockets: !IS_ROOT || hosts.length > 0 }
  try {
    return { argv: hardenCommand(parseCommandLine(script), options), filter, cleanUp }
  } catch (thrown) {
    cleanUp()
    throw thrown
  }
}

/** Adds seccomp, tmpfs sizes and /proc masks. Fails closed: throws on a command line that it does not recognise. */
export function hardenCommand(
  argv: readonly string[],
  { programs, scratch_mb }: Pick<WrapOptions, 'programs' | 'scratch_mb'>,
  isRoot = IS_ROOT,
): string[] {
  const end = argv.indexOf('--')
  const head = argv.slice(1, end)
  const procs = head.filter((arg, index) => arg === '--proc' && head[index + 1] === '/proc')
  const [, shell = '', option, script, ...rest] = argv.slice(end)
  const isKnown = argv[0] === programs.bwrap && procs.length === 1 && shell.endsWith('/bash') && option === '-c'
  if (end === -1 || !isKnown || script === undefined || rest.length > 0) throw unknownCommandLineError()
  const size = ['--size', String(scratch_mb * 1024 * 1024)]
  // `/dev` is a tmpfs without a limit: read-only, and `/dev/shm` a limited one. Otherwise files there take memory that nobody counts.
  const devices = ['--dev', '/dev', ...size, '--tmpfs', '/dev/shm', '--remount-ro', '/dev']
  const sized = head.flatMap((arg, index) => {
    if (head[index - 1] === '--dev' && arg === '/dev') return devices.slice(1)
    return arg === '--tmpfs' ? [...size, arg] : [arg]
  })
  const afterProc = sized.indexOf('--proc') + 2
  const masks = MASKED_PROC_ENTRIES.map((name) => `/proc/${name}`)
    .filter((path) => existsSync(path))
    .flatMap((path) => ['--ro-bind', path, path])
  const masked = isRoot ? sized.toSpliced(afterProc, 0, ...masks) : sized
  return [
    programs.bwrap,
    ...SECCOMP_ARGS,
    '--unshare-ipc',
    ...masked,
    '--',
    shell,
    '-c',
    `${CLOSE_INHERITED_FDS}\n${script}`,
  ]
}

/** bubblewrap reads the seccomp filter from descriptor 3. */
const SECCOMP_ARGS = ['--seccomp', '3']

/** For architectures without a filter: bubblewrap would fail on the missing descriptor. */
export function withoutSeccomp(argv: readonly string[]): string[] {
  return argv.toSpliced(1, SECCOMP_ARGS.length)
}
