import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import type { Workspace } from '../files/workspace.ts'
import { findProgram } from '../search/ripgrep.ts'
import { operatorError } from '../tool-errors.ts'
import { createCgroup } from './cgroup.ts'
import { CommandWatchdog } from './command-watchdog.ts'
import { quarantineNewConfig } from './config-guard.ts'
import { EXEC_FROM_FD, encodeExecArguments } from './exec-arguments.ts'
import type { FilePolicy } from './file-policy.ts'
import { createFilePolicy } from './file-policy.ts'
import { GitGuard } from './git-guard.ts'
import type { CommandRecord } from './interrupted-commands.ts'
import { createMarker, createRecordFolder, recordCommand, recordFolders } from './interrupted-commands.ts'
import { killSandbox } from './kill-process.ts'
import { ProtectedLinks } from './protected-links.ts'
import { makeWritable } from './quarantine-file.ts'
import { monitorResources } from './resource-monitor.ts'
import type { ProcessExit, Sandbox, SandboxedProcess, SandboxLimits, SandboxOptions, SpawnRequest } from './sandbox.ts'
import { DEFAULT_SANDBOX_LIMITS } from './sandbox.ts'
import { GIT_CONFIG, gitConfigPath, sandboxEnvironment } from './sandbox-environment.ts'
import type { HostPrograms, WrappedCommand } from './sandbox-runtime.ts'
import { acquireProxy, runtimeFolders, withoutSeccomp, wrapCommand } from './sandbox-runtime.ts'
import { createSeccompFilter } from './seccomp.ts'
import { shellQuote } from './unsandboxed.ts'
import { FolderScans, isFullyProtected, PartlyProtectedFolders } from './workspace-guard.ts'

const IS_ROOT = process.geteuid?.() === 0
const PRIVATE_FOLDERS = { home: '/tmp/home', temporary: '/tmp' }

export interface BubblewrapOptions extends SandboxOptions {
  workspace: Workspace
  /** Hosts that commands can reach through the proxy. */
  hosts: readonly string[]
  programs: HostPrograms
  /** The folder for records of commands in progress. Default: none are written. */
  records?: string
  /** Further paths that commands can read, asked for each command. */
  readMore?: () => readonly string[]
  /** The trusted `PATH`: without folders that an agent can write to. */
  path: string
}

export function createBubblewrapSandbox(options: BubblewrapOptions): Sandbox {
  const limits: SandboxLimits = { ...DEFAULT_SANDBOX_LIMITS, ...options.limits }
  const partlyProtected = new PartlyProtectedFolders(options.workspace)
  const releaseProxy = options.hosts.length > 0 ? acquireProxy() : async () => {}
  // Before the first command: in a workspace that is the home folder, a missing folder would be masked by a file.
  const records = options.records === undefined ? undefined : createRecordFolder(options.records)
  const beginCommand = commandChecks(options, records)
  const watchdog = records === undefined ? undefined : new CommandWatchdog(records, options.path)
  return {
    kind: 'bubblewrap',
    close() {
      watchdog?.close()
      return releaseProxy()
    },
    isVisible(path, access) {
      const { allowRead } = createFilePolicy(options.workspace, withMoreRead(options), {
        helpers: [],
        write: false,
        access,
      })
      return allowRead.some((root) => isWithin(resolveRealPath(path), resolveRealPath(root)))
    },
    async spawn(request) {
      const marker = createMarker()
      const id = randomBytes(24).toString('base64url')
      const write = (request.write ?? true) && !isFullyProtected(options.workspace)
      const undo: UndoStep[] = []
      const hosts = [...options.hosts, ...(request.access?.hosts ?? [])]
      try {
        if (hosts.length > options.hosts.length) undo.unshift(acquireProxy())
        if (write) {
          // Before they exist: a process that is killed before the command begins would leave them for good.
          undo.unshift(
            recordFolders(records, options.workspace, { marker, mountPoints: partlyProtected.missingFolders }),
          )
          partlyProtected.acquire()
          undo.unshift(() => partlyProtected.release())
        }
        const scans = new FolderScans()
        const files = createFilePolicy(options.workspace, withMoreRead(options), {
          helpers: runtimeFolders(),
          write,
          longRunning: request.longRunning === true,
          access: request.access,
          scans,
        })
        const encodedArguments = encodeExecArguments(
          request.command,
          sandboxEnvironment(files.allowRead, PRIVATE_FOLDERS, { ...options.env, ...request.env }),
        )
        const { programs } = options
        if (hosts.length > 0 && programs.socat === undefined) throw missingSocatError()
        const wrapping = { files, programs, hosts, scratch_mb: limits.scratch_mb, id }
        const wrapped = await wrapCommand(innerScript(limits, marker), wrapping)
        undo.unshift(() => {
          // The runtime removes its mount points by name, which needs a writable workspace root.
          if (write) restoreWritable(options.workspace.realPath)
          wrapped.cleanUp()
        })
        const mountPoints = [...absentMountPoints(wrapped.argv, options.workspace), ...partlyProtected.createdFolders]
        const beginWork = (before?: FolderScans) => beginCommand(files, { marker, mountPoints }, before)
        if (write) await watchdog?.start()
        if (write && !request.longRunning) undo.unshift(beginWork(scans))
        const running = startProcess(options, request, { wrapped, encodedArguments, undo, limits, id })
        return request.longRunning && write ? { ...running, beginWork: () => beginWork() } : running
      } catch (thrown) {
        await runUndoSteps(undo)
        throw thrown
      }
    },
  }
}

function withMoreRead({ readMore, ...options }: BubblewrapOptions): BubblewrapOptions {
  return { ...options, read: [...(options.read ?? []), ...(readMore?.() ?? [])] }
}

/** The paths in the workspace that bubblewrap creates, as empty files and folders, to mount over them. */
function absentMountPoints(argv: readonly string[], { realPath }: Workspace): string[] {
  const paths = argv.slice(0, argv.indexOf('--')).filter((word) => word.startsWith(`${realPath}/`))
  return [...new Set(paths)].filter((path) => lstatSync(path, { throwIfNoEntry: false }) === undefined)
}

/** Returns a function that records what a command could tamper with; its result checks that afterwards and returns notes. */
function commandChecks({ workspace, path }: BubblewrapOptions, records: string | undefined) {
  const links = new ProtectedLinks(workspace)
  const gitGuard = new GitGuard(findProgram('git', path))
  return (files: FilePolicy, traces: Pick<CommandRecord, 'marker' | 'mountPoints'>, before?: FolderScans) => {
    const repositories = gitGuard.record(files, before)
    const restoreLinks = links.beginCommand(files.denyWrite)
    const scope = { allowWrite: files.allowWrite, denyWrite: files.denyWrite }
    const command = { workspace: workspace.realPath, ...traces, repositories, scope, links: links.recorded() }
    const removeRecord = records === undefined ? () => {} : recordCommand(records, command)
    return () => {
      const restored = restoreLinks()
      const after = new FolderScans()
      const notes = [...restored, ...gitGuard.check(repositories, after), ...quarantineNewConfig(scope, after)]
      removeRecord()
      return notes
    }
  }
}

function missingSocatError() {
  return operatorError(
    'network in the sandbox (`hosts`) needs socat, which is missing',
    'on Debian: apt-get install socat',
  )
}

function restoreWritable(root: string): void {
  try {
    makeWritable(root)
  } catch {
    // The workspace is gone or owned by another user.
  }
}

/** A cleanup step, run in reverse order; returns notes about repairs in the workspace. */
type UndoStep = () => readonly string[] | Promise<void> | void

async function runUndoSteps(undo: UndoStep[]): Promise<string[]> {
  const notes: string[] = []
  for (const step of undo.splice(0)) notes.push(...((await step()) ?? []))
  return notes
}

/** The script that runs inside before the command: sets resource limits that cannot be raised, and a private home. */
function innerScript(limits: SandboxLimits, marker: string): string {
  const { cpu_s, memory_mb, processes, file_mb, open_files } = limits
  return [
    `# ${marker}`,
    `ulimit -c 0 -t ${cpu_s} -d ${memory_mb * 1024} -f ${file_mb * 1024} -n ${open_files}`,
    // RLIMIT_NPROC does not apply to root; for root a cgroup limits processes.
    `ulimit -u ${processes} 2>/dev/null`,
    `mkdir -p ${shellQuote(PRIVATE_FOLDERS.home)}`,
    `printf %s ${shellQuote(GIT_CONFIG)} > ${shellQuote(gitConfigPath(PRIVATE_FOLDERS))}`,
    ...EXEC_FROM_FD,
  ].join('\n')
}

interface PreparedCommand {
  wrapped: WrappedCommand
  encodedArguments: Buffer
  undo: UndoStep[]
  limits: SandboxLimits
  id: string
}

/** Joins a cgroup, then replaces itself by the given command. */
const JOIN_CGROUP = 'echo $$ > "$0" || exit 126; exec "$@"'

function startProcess(
  { workspace, path }: BubblewrapOptions,
  request: SpawnRequest,
  prepared: PreparedCommand,
): SandboxedProcess {
  const { wrapped, encodedArguments, undo, limits, id } = prepared
  const cgroup = IS_ROOT ? createCgroup(id, limits.processes + 8) : undefined
  if (cgroup) undo.push(() => cgroup.remove())
  const filter = createSeccompFilter(wrapped.filter)
  const argv = filter ? wrapped.argv : withoutSeccomp(wrapped.argv)
  const [program = '', ...args] = cgroup ? ['/bin/sh', '-c', JOIN_CGROUP, cgroup.procsFile, ...argv] : argv
  const child = spawn(program, args, {
    cwd: join(workspace.realPath, request.cwd ?? '.'),
    // Sandbox escape: variables such as LD_PRELOAD would take effect outside, in the processes that set up the sandbox.
    env: { PATH: path },
    detached: true,
    stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe', filter ? 'pipe' : 'ignore', 'pipe'],
  })
  for (const [index, bytes] of [filter, encodedArguments].entries()) {
    const pipe = child.stdio[index + 3] as Writable | null | undefined
    pipe?.on('error', () => {})
    pipe?.end(bytes)
  }
  return superviseProcess(child, { undo, limits })
}

function superviseProcess(
  child: SandboxedProcess['child'],
  { undo, limits }: Pick<PreparedCommand, 'undo' | 'limits'>,
): SandboxedProcess {
  let exceeded: ProcessExit['limit']
  const kill = () => killSandbox(child)
  const stopMonitor =
    child.pid === undefined
      ? () => {}
      : monitorResources(child.pid, limits, (limit) => {
          exceeded ??= limit
          kill()
        })
  const exited = new Promise<ProcessExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...(exceeded ? { limit: exceeded } : undefined) }))
  })
  const ended = exited.then(
    async (exit) => {
      stopMonitor()
      const repairs = await runUndoSteps(undo)
      return repairs.length > 0 ? { ...exit, repairs } : exit
    },
    async (thrown: unknown) => {
      stopMonitor()
      await runUndoSteps(undo)
      throw thrown
    },
  )
  ended.catch(() => {})
  return { child, ended, kill }
}
