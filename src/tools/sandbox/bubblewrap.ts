import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Workspace } from '../files/workspace.ts'
import { endSandbox } from './end-group.ts'
import { GIT_SETTINGS, gitSettingsFile, sandboxEnvironment } from './environment.ts'
import { handover, TAKE_OVER } from './handover.ts'
import { filePolicy } from './policy.ts'
import { makeProcessGroup } from './process-group.ts'
import { ProtectedLinks } from './protected-links.ts'
import { undoRedirections, unredirected } from './redirections.ts'
import type { Ended, Sandbox, SandboxedProcess, SandboxLimits, SandboxOptions, SpawnRequest } from './sandbox.ts'
import { DEFAULT_SANDBOX_LIMITS } from './sandbox.ts'
import { makeWritable } from './set-aside.ts'
import { systemCallFilter } from './system-calls.ts'
import { watch } from './warden.ts'
import { isGuardedWhole, SharedFolders } from './workspace-guard.ts'
import type { HostPrograms, Wrapped } from './wrap.ts'
import { runtimeFolders, useHosts, withoutFilter, wrapCommand } from './wrap.ts'

const IS_ROOT = process.geteuid?.() === 0
const FOLDERS = { home: '/tmp/home', temporary: '/tmp' }

export interface BubblewrapOptions extends SandboxOptions {
  workspace: Workspace
  /** Hosts that commands may reach. */
  hosts: readonly string[]
  programs: HostPrograms
  /** Where programs of the host are, and none that an agent could have put there. */
  path: string
}

export function bubblewrapSandbox(options: BubblewrapOptions): Sandbox {
  const limits: SandboxLimits = { ...DEFAULT_SANDBOX_LIMITS, ...options.limits }
  const shared = new SharedFolders(options.workspace)
  const links = new ProtectedLinks(options.workspace)
  return {
    kind: 'bubblewrap',
    close: options.hosts.length > 0 ? useHosts() : async () => {},
    async spawn(request) {
      const id = randomBytes(24).toString('base64url')
      const write = (request.write ?? true) && !isGuardedWhole(options.workspace)
      const undo: Undo[] = []
      try {
        if (write) {
          shared.enter()
          undo.unshift(() => shared.leave())
        }
        const files = filePolicy(options.workspace, options, {
          helpers: runtimeFolders(),
          write,
          serves: request.serves === true,
        })
        const words = handover(
          request.command,
          sandboxEnvironment(files.allowRead, FOLDERS, { ...options.env, ...request.env }),
        )
        const { programs, hosts } = options
        const wrapping = { files, programs, hosts, scratch_mb: limits.scratch_mb, id }
        const wrapped = await wrapCommand(inner(limits), wrapping)
        undo.unshift(() => {
          // What was covered is uncovered by name, for which the root has to be writable.
          if (write) restoreRight(options.workspace.real)
          wrapped.done()
        })
        if (write && !request.serves) {
          const folders = unredirected(files)
          const leave = links.enter(files.denyWrite)
          undo.unshift(() => [...undoRedirections(folders), ...leave()])
        }
        const work = start(options, request, { wrapped, words, undo, limits, id })
        return request.serves && write ? { ...work, busy: () => links.enter(files.denyWrite) } : work
      } catch (thrown) {
        await settle(undo)
        throw thrown
      }
    },
  }
}

/** A workspace that is not ours, or is gone, stays as it is. */
function restoreRight(root: string): void {
  try {
    makeWritable(root)
  } catch {
    // Covers stay.
  }
}

/** A step back to how the workspace and the machine have to be, the latest first; says what it had to put right. */
type Undo = () => readonly string[] | Promise<void> | void

async function settle(undo: Undo[]): Promise<string[]> {
  const notes: string[] = []
  for (const step of undo.splice(0)) notes.push(...((await step()) ?? []))
  return notes
}

/** What runs inside before the command itself: limits that nothing inside can lift, and a home that is nobody's. */
function inner({ cpu_s, memory_mb, processes, file_mb, open_files }: SandboxLimits): string {
  return [
    `ulimit -c 0 -t ${cpu_s} -d ${memory_mb * 1024} -f ${file_mb * 1024} -n ${open_files}`,
    // Root is not bound by it; a process group is made for root instead.
    `ulimit -u ${processes} 2>/dev/null`,
    `mkdir -p ${quoted(FOLDERS.home)}`,
    `printf %s ${quoted(GIT_SETTINGS)} > ${quoted(gitSettingsFile(FOLDERS))}`,
    ...TAKE_OVER,
  ].join('\n')
}

interface Prepared {
  wrapped: Wrapped
  words: Buffer
  undo: Undo[]
  limits: SandboxLimits
  id: string
}

/** Joins a process group and becomes what follows. */
const JOIN = 'echo $$ > "$0" || exit 126; exec "$@"'

function start({ workspace, path }: BubblewrapOptions, request: SpawnRequest, prepared: Prepared): SandboxedProcess {
  const { wrapped, words, undo, limits, id } = prepared
  const group = IS_ROOT ? makeProcessGroup(id, limits.processes + 8) : undefined
  if (group) undo.push(() => group.remove())
  const filter = systemCallFilter(wrapped.filter)
  const confined = filter ? wrapped.words : withoutFilter(wrapped.words)
  const [program = '', ...args] = group ? ['/bin/sh', '-c', JOIN, group.join, ...confined] : confined
  const child = spawn(program, args, {
    cwd: join(workspace.real, request.cwd ?? '.'),
    // Nothing that a request brings: these processes are not confined yet.
    env: { PATH: path },
    detached: true,
    stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe', filter ? 'pipe' : 'ignore', 'pipe'],
  })
  for (const [at, bytes] of [filter, words].entries()) {
    const way = child.stdio[at + 3] as Writable | null | undefined
    way?.on('error', () => {})
    way?.end(bytes)
  }
  return watched(child, { undo, limits })
}

function watched(
  child: SandboxedProcess['child'],
  { undo, limits }: Pick<Prepared, 'undo' | 'limits'>,
): SandboxedProcess {
  let limit: Ended['limit']
  const kill = () => endSandbox(child)
  const stopWatching =
    child.pid === undefined
      ? () => {}
      : watch(child.pid, limits, (which) => {
          limit ??= which
          kill()
        })
  const over = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...(limit ? { limit } : undefined) }))
  })
  const ended = over.then(
    async (how) => {
      stopWatching()
      const notes = await settle(undo)
      return notes.length > 0 ? { ...how, notes } : how
    },
    async (thrown: unknown) => {
      stopWatching()
      await settle(undo)
      throw thrown
    },
  )
  ended.catch(() => {})
  return { child, ended, kill }
}

/** One word for a shell, whatever is in it. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
