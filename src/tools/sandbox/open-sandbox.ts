import { TroupeError } from '../../errors.ts'
import type { Workspace } from '../files/workspace.ts'
import { findProgram } from '../search/ripgrep.ts'
import { bubblewrapSandbox } from './bubblewrap.ts'
import { describeSandbox } from './describe.ts'
import { openAir } from './open-air.ts'
import type { Sandbox, SandboxedProcess, SandboxOptions, SpawnRequest } from './sandbox.ts'
import { preferTrusted, trustedPath } from './trusted-path.ts'

export interface SandboxChoice {
  workspace: Workspace
  /** `none` has to be said: without a sandbox, commands can do what this process can. */
  sandbox: SandboxOptions | 'none'
  hosts: readonly string[]
}

/** Refuses to go on where commands cannot be confined, unless told that this is wanted. */
export function openSandbox({ workspace, sandbox, hosts }: SandboxChoice): Sandbox {
  if (sandbox === 'none') return openAir(workspace)
  const writable = [workspace.real, ...(sandbox.write ?? [])]
  preferTrusted(writable)
  const path = trustedPath(writable)
  const report = describeSandbox({ network: hosts.length > 0, path })
  const [bwrap, rg, socat] = ['bwrap', 'rg', 'socat'].map((name) => findProgram(name, path))
  if (report.available && bwrap !== undefined && rg !== undefined) {
    return bubblewrapSandbox({ workspace, hosts, ...sandbox, programs: { bwrap, rg, socat }, path })
  }
  throw new TroupeError('invalid_input', `commands cannot be sandboxed here: ${report.problems.join('; ')}`, {
    blame: 'operator',
    hint: "install what is missing, or accept unconfined commands with sandbox: 'none'",
  })
}

/** Starts a program that serves us, such as a language server, in the same confinement as commands. */
export function sandboxedSpawn(sandbox: Sandbox, request: SpawnRequest): Promise<SandboxedProcess> {
  return sandbox.spawn({ stdin: 'pipe', serves: true, ...request })
}
