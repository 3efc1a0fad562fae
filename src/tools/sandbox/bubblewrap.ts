import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Workspace } from '../files/workspace.ts'
import { GIT_SETTINGS, sandboxEnvironment } from './environment.ts'
import { filePolicy } from './policy.ts'
import type { ProcessGroup } from './process-group.ts'
import { makeProcessGroup } from './process-group.ts'
import { ProtectedLinks } from './protected-links.ts'
import type { Ended, Sandbox, SandboxedProcess, SandboxLimits, SandboxOptions, SpawnRequest } from './sandbox.ts'
import { DEFAULT_SANDBOX_LIMITS } from './sandbox.ts'
import { systemCallFilter } from './system-calls.ts'
import { watch } from './warden.ts'
import { isGuardedWhole, missingRedirections, removeRedirections, SharedFolders } from './workspace-guard.ts'
import type { Wrapped } from './wrap.ts'
import { runtimeFolders, useHosts, wrapCommand } from './wrap.ts'

const IS_ROOT = process.geteuid?.() === 0
const FOLDERS = { home: '/tmp/home', temporary: '/tmp' }

export interface BubblewrapOptions extends SandboxOptions {
  workspace: Workspace
  /** Hosts that commands may reach. */
  hosts: readonly string[]
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
      if (write) shared.enter()
      const leave = () => {
        if (write) shared.leave()
      }
      const prepare = async () => {
        const files = filePolicy(options.workspace, options, { helpers: runtimeFolders(), write })
        const wrapping = { files, hosts: options.hosts, scratch_mb: limits.scratch_mb, id }
        return { files, wrapped: await wrapCommand(inner(limits), wrapping) }
      }
      const { files, wrapped } = await prepare().catch((thrown: unknown) => {
        leave()
        throw thrown
      })
      const redirections = missingRedirections(files.denyWrite)
      const env = {
        ...sandboxEnvironment(files.allowRead, FOLDERS, { ...options.env, ...request.env }),
        TROUPE_COMMAND: typeof request.command === 'string' ? request.command : request.command.map(quoted).join(' '),
      }
      links.enter(files.denyWrite)
      const done = async () => {
        removeRedirections(redirections)
        wrapped.done()
        leave()
        await links.leave()
      }
      return start(options.workspace, request, { wrapped: { ...wrapped, done }, env, limits, id })
    },
  }
}

/** What runs inside before the command itself: limits that nothing inside can lift, and a home that is nobody's. */
function inner({ cpu_s, memory_mb, processes, file_mb, open_files }: SandboxLimits): string {
  return [
    `ulimit -c 0 -t ${cpu_s} -d ${memory_mb * 1024} -f ${file_mb * 1024} -n ${open_files}`,
    // Root is not bound by it; a process group is made for root instead.
    `ulimit -u ${processes} 2>/dev/null`,
    'mkdir -p "$HOME"',
    `printf %s ${quoted(GIT_SETTINGS)} > "$GIT_CONFIG_GLOBAL"`,
    'troupe_command=$TROUPE_COMMAND',
    'unset TROUPE_COMMAND',
    'exec /bin/bash -c "$troupe_command"',
  ].join('\n')
}

/** A wrapped command whose end leaves the workspace as it has to be. */
interface Confined extends Omit<Wrapped, 'done'> {
  done(): Promise<void>
}

interface Prepared {
  wrapped: Confined
  env: Record<string, string>
  limits: SandboxLimits
  id: string
}

function start(workspace: Workspace, request: SpawnRequest, { wrapped, env, limits, id }: Prepared): SandboxedProcess {
  const group = IS_ROOT ? makeProcessGroup(id, limits.processes + 8) : undefined
  const joined = group ? `echo $$ > ${quoted(group.join)} || exit 126\n` : ''
  const filter = systemCallFilter(wrapped.filter)
  // A descriptor that is not there would end the sandbox before it begins.
  const script = filter ? wrapped.script : wrapped.script.replace(' --seccomp 3', '')
  const child = spawn('/bin/sh', ['-c', joined + script], {
    cwd: join(workspace.real, request.cwd ?? '.'),
    env,
    detached: true,
    stdio: [request.stdin ?? 'ignore', 'pipe', 'pipe', filter ? 'pipe' : 'ignore'],
  })
  const handover = child.stdio[3] as Writable | null
  handover?.on('error', () => {})
  handover?.end(filter)
  return watched(child, { wrapped, limits, group })
}

function watched(
  child: SandboxedProcess['child'],
  { wrapped, limits, group }: { wrapped: Confined; limits: SandboxLimits; group: ProcessGroup | undefined },
): SandboxedProcess {
  let limit: Ended['limit']
  const kill = () => {
    // The sandbox's first process takes all others of its world with it, in whatever session they hide.
    if (child.pid !== undefined) endGroup(child.pid)
  }
  const stopWatching =
    child.pid === undefined
      ? () => {}
      : watch(child.pid, limits, (which) => {
          limit ??= which
          kill()
        })
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...(limit ? { limit } : undefined) }))
  }).finally(async () => {
    stopWatching()
    await wrapped.done()
    await group?.remove()
  })
  ended.catch(() => {})
  return { child, ended, kill }
}

export function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** One word for a shell, whatever is in it. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
