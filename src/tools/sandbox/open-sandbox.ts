import { TroupeError } from '../../errors.ts'
import type { Workspace } from '../files/workspace.ts'
import { findProgram, findRipgrep } from '../search/ripgrep.ts'
import type { BubblewrapOptions } from './bubblewrap.ts'
import { describeSandbox } from './describe-sandbox.ts'
import type { Sandbox, SandboxedProcess, SandboxOptions, SpawnRequest } from './sandbox.ts'
import { hostProgramPath, preferTrustedPath } from './trusted-path.ts'
import { createUnsandboxed } from './unsandboxed.ts'

export interface OpenSandboxOptions {
  workspace: Workspace
  /** `'none'` must be explicit: unsandboxed commands have all rights of this process. */
  sandbox: SandboxOptions | 'none'
  hosts: readonly string[]
  /** The folder for records of commands in progress, with which they are checked even if this process is killed. */
  records?: string
  /** Further paths that commands can read, asked for each command. */
  readMore?: () => readonly string[]
}

/** Opens the sandbox. Fails closed: throws when commands cannot be sandboxed, unless `sandbox` is `'none'`. */
export function openSandbox({ workspace, sandbox, hosts, records, readMore }: OpenSandboxOptions): Sandbox {
  if (sandbox === 'none') return createUnsandboxed(workspace)
  const writable = [workspace.realPath, ...(sandbox.write ?? [])]
  preferTrustedPath(writable)
  const path = hostProgramPath(writable)
  const report = describeSandbox({ network: hosts.length > 0, writable })
  const [bwrap, socat] = ['bwrap', 'socat'].map((name) => findProgram(name, path))
  const rg = findRipgrep(writable, path)
  if (report.available && bwrap !== undefined && rg !== undefined) {
    const more = { ...(records === undefined ? undefined : { records }), ...(readMore ? { readMore } : undefined) }
    return onDemand({ workspace, hosts, ...sandbox, ...more, programs: { bwrap, rg, socat }, path })
  }
  throw new TroupeError('invalid_input', `commands cannot be sandboxed here: ${report.problems.join('; ')}`, {
    responsible: 'operator',
    hint: "install what is missing, or accept unsandboxed commands with `sandbox: 'none'`",
  })
}

/** Most of the sandbox is imported with the first command. */
function onDemand(options: BubblewrapOptions): Sandbox {
  let opening: Promise<Sandbox> | undefined
  let opened: Sandbox | undefined
  let isClosed = false
  const open = async () => {
    const { createBubblewrapSandbox } = await import('./bubblewrap.ts')
    opened = createBubblewrapSandbox(options)
    return opened
  }
  return {
    kind: 'bubblewrap',
    async spawn(request) {
      if (!isClosed) opening ??= open()
      const sandbox = await opening
      if (sandbox && !isClosed) return sandbox.spawn(request)
      const hint = 'create another troupe to run commands'
      throw new TroupeError('cancelled', 'the `sandbox` of this troupe is closed', { hint })
    },
    isVisible: (path, access) => opened?.isVisible?.(path, access) ?? true,
    async close() {
      isClosed = true
      // The caller of `spawn` has the error of a sandbox that did not open.
      await opening?.catch(() => {})
      await opened?.close()
    },
  }
}

/** Starts a long-running server, such as a language server, in the sandbox, with a pipe to its stdin. */
export function spawnSandboxedServer(sandbox: Sandbox, request: SpawnRequest): Promise<SandboxedProcess> {
  return sandbox.spawn({ stdin: 'pipe', longRunning: true, ...request })
}
