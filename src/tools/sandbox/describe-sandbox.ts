import { spawnSync } from 'node:child_process'
import { findProgram, findRipgrep } from '../search/ripgrep.ts'
import { pidsCgroupParent } from './cgroup.ts'
import type { SandboxReport } from './sandbox.ts'
import { hostProgramPath } from './trusted-path.ts'

export interface SandboxRequirements {
  network: boolean
  /** No program of these folders and the repositories around them is used (PATH hijacking). Default: the working folder, which a stranger may have written. */
  writable?: readonly string[]
}

/** Reports whether commands can be sandboxed on this machine. Starts an empty sandbox as a probe. */
export function describeSandbox(requirements: SandboxRequirements = { network: false }): SandboxReport {
  const { network, writable = [process.cwd()] } = requirements
  const path = hostProgramPath(writable)
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      available: false,
      problems: [`the sandbox does not support ${process.platform} yet`],
      notes: [],
    }
  }
  const problems = missingPrograms({ network, writable }, path)
  const bwrap = findProgram('bwrap', path)
  if (problems.length === 0 && bwrap !== undefined) {
    const reason = probeBubblewrap(bwrap, path)
    if (reason !== undefined) problems.push(`bubblewrap cannot create a sandbox here: ${reason}`)
  }
  return {
    kind: problems.length === 0 ? 'bubblewrap' : 'none',
    available: problems.length === 0,
    problems,
    notes: rootNotes(),
  }
}

function missingPrograms({ network, writable }: Required<SandboxRequirements>, path: string): string[] {
  const needed: readonly (readonly [string, string])[] = [
    ['bwrap', 'bubblewrap'],
    // sandbox-runtime uses it to find the other programs.
    ['which', 'debianutils'],
    ...(network ? [['socat', 'socat'] as const] : []),
  ]
  const missing = needed
    .filter(([program]) => findProgram(program, path) === undefined)
    .map(([program, pkg]) => `${program} is missing (on Debian: apt-get install ${pkg})`)
  if (findRipgrep(writable, path) !== undefined) return missing
  return [
    ...missing,
    'rg is missing (npm: @vscode/ripgrep outside of the workspace; on Debian: apt-get install ripgrep)',
  ]
}

/** An installed bubblewrap may still fail: containers and distributions can forbid user namespaces. */
function probeBubblewrap(bwrap: string, path: string): string | undefined {
  const args = [
    '--unshare-all',
    '--unshare-user',
    '--die-with-parent',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--',
    'true',
  ]
  const { status, stderr, error } = spawnSync(bwrap, args, {
    encoding: 'utf8',
    timeout: 10_000,
    env: { PATH: path },
  })
  if (status === 0) return undefined
  return error?.message ?? (stderr.trim().split('\n')[0] || `status ${status}`)
}

function rootNotes(): string[] {
  if (process.geteuid?.() !== 0) return []
  const hasCgroup = pidsCgroupParent() !== undefined
  return [
    'running as root: prefer an unprivileged user',
    ...(hasCgroup ? [] : ['as root without a pids cgroup, the process limit is only checked a few times per second']),
  ]
}
