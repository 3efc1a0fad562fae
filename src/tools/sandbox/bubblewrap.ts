import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Workspace } from '../files/workspace.ts'
import { createCgroup } from './cgroup.ts'
import { EXEC_FROM_FD, encodeExecArguments } from './exec-arguments.ts'
import { createFilePolicy } from './file-policy.ts'
import { gitFoldersWithoutCommondir, quarantineNewCommondirs } from './git-commondir.ts'
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
import { isFullyProtected, PartlyProtectedFolders } from './workspace-guard.ts'

const IS_ROOT = process.geteuid?.() === 0
const PRIVATE_FOLDERS = { home: '/tmp/home', temporary: '/tmp' }

export interface BubblewrapOptions extends SandboxOptions {
  workspace: Workspace
  /** Hosts that commands may reach. */
  hosts: readonly string[]
  programs: HostPrograms
  /** Where programs of the host are, and none that an agent could have put there. */
  path: string
}

export function createBubblewrapSandbox(options: BubblewrapOptions): Sandbox {
  const limits: SandboxLimits = { ...DEFAULT_SANDBOX_LIMITS, ...options.limits }
  const shared = new PartlyProtectedFolders(options.workspace)
  const links = new ProtectedLinks(options.workspace)
  return {
    kind: 'bubblewrap',
    close: options.hosts.length > 0 ? acquireProxy() : async () => {},
    async spawn(request) {
      const id = randomBytes(24).toString('base64url')
      const write = (request.write ?? true) && !isFullyProtected(options.workspace)
      const undo: UndoStep[] = []
      try {
        if (write) {
          shared.acquire()
          undo.unshift(() => shared.release())
        }
        const files = createFilePolicy(options.workspace, options, {
          helpers: runtimeFolders(),
          write,
          serves: request.longRunning === true,
        })
        const encodedArguments = encodeExecArguments(
          request.command,
          sandboxEnvironment(files.allowRead, PRIVATE_FOLDERS, { ...options.env, ...request.env }),
        )
        const { programs, hosts } = options
        const wrapping = { files, programs, hosts, scratch_mb: limits.scratch_mb, id }
        const wrapped = await wrapCommand(innerScript(limits), wrapping)
        undo.unshift(() => {
          // What was covered is uncovered by name, for which the root has to be writable.
          if (write) restoreWritable(options.workspace.realPath)
          wrapped.cleanUp()
        })
        if (write && !request.longRunning) {
          const folders = gitFoldersWithoutCommondir(files)
          const leave = links.beginCommand(files.denyWrite)
          undo.unshift(() => [...quarantineNewCommondirs(folders), ...leave()])
        }
        const work = startProcess(options, request, { wrapped, encodedArguments, undo, limits, id })
        return request.longRunning && write ? { ...work, beginWork: () => links.beginCommand(files.denyWrite) } : work
      } catch (thrown) {
        await runUndoSteps(undo)
        throw thrown
      }
    },
  }
}

/** A workspace that is not ours, or is gone, stays as it is. */
function restoreWritable(root: string): void {
  try {
    makeWritable(root)
  } catch {
    // Covers stay.
  }
}

/** A step back to how the workspace and the machine have to be, the latest first; says what it had to put right. */
type UndoStep = () => readonly string[] | Promise<void> | void

async function runUndoSteps(undo: UndoStep[]): Promise<string[]> {
  const notes: string[] = []
  for (const step of undo.splice(0)) notes.push(...((await step()) ?? []))
  return notes
}

/** What runs inside before the command itself: limits that nothing inside can lift, and a home that is nobody's. */
function innerScript({ cpu_s, memory_mb, processes, file_mb, open_files }: SandboxLimits): string {
  return [
    `ulimit -c 0 -t ${cpu_s} -d ${memory_mb * 1024} -f ${file_mb * 1024} -n ${open_files}`,
    // Root is not bound by it; a process group is made for root instead.
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

/** Joins a process group and becomes what follows. */
const JOIN_CGROUP = 'echo $$ > "$0" || exit 126; exec "$@"'

function startProcess(
  { workspace, path }: BubblewrapOptions,
  request: SpawnRequest,
  prepared: PreparedCommand,
): SandboxedProcess {
  const { wrapped, encodedArguments, undo, limits, id } = prepared
  const group = IS_ROOT ? createCgroup(id, limits.processes + 8) : undefined
  if (group) undo.push(() => group.remove())
  const filter = createSeccompFilter(wrapped.filter)
  const confined = filter ? wrapped.argv : withoutSeccomp(wrapped.argv)
  const [program = '', ...args] = group ? ['/bin/sh', '-c', JOIN_CGROUP, group.procsFile, ...confined] : confined
  const child = spawn(program, args, {
    cwd: join(workspace.realPath, request.cwd ?? '.'),
    // Nothing that a request brings: these processes are not confined yet.
    env: { PATH: path },
    detached: true,
    stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe', filter ? 'pipe' : 'ignore', 'pipe'],
  })
  for (const [at, bytes] of [filter, encodedArguments].entries()) {
    const way = child.stdio[at + 3] as Writable | null | undefined
    way?.on('error', () => {})
    way?.end(bytes)
  }
  return superviseProcess(child, { undo, limits })
}

function superviseProcess(
  child: SandboxedProcess['child'],
  { undo, limits }: Pick<PreparedCommand, 'undo' | 'limits'>,
): SandboxedProcess {
  let limit: ProcessExit['limit']
  const kill = () => killSandbox(child)
  const stopWatching =
    child.pid === undefined
      ? () => {}
      : monitorResources(child.pid, limits, (which) => {
          limit ??= which
          kill()
        })
  const over = new Promise<ProcessExit>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...(limit ? { limit } : undefined) }))
  })
  const ended = over.then(
    async (how) => {
      stopWatching()
      const repairs = await runUndoSteps(undo)
      return repairs.length > 0 ? { ...how, repairs } : how
    },
    async (thrown: unknown) => {
      stopWatching()
      await runUndoSteps(undo)
      throw thrown
    },
  )
  ended.catch(() => {})
  return { child, ended, kill }
}

/** One word for a shell, whatever is in it. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
