import { spawnSync } from 'node:child_process'
import { findProgram } from '../search/ripgrep.ts'
import { pidsCgroupParent } from './cgroup.ts'
import type { SandboxReport } from './sandbox.ts'
import { hostProgramPath } from './trusted-path.ts'

export interface SandboxRequirements {
  network: boolean
  /** The folders to search for programs. Default: `PATH` without those of the working folder and its repository, which a stranger may have written (PATH hijacking). */
  path?: string
}

/** Reports whether commands can be sandboxed on this machine. Starts an empty sandbox as a probe. */
export function describeSandbox(requirements: SandboxRequirements = { network: false }): SandboxReport {
  const { network, path = hostProgramPath([process.cwd()]) } = requirements
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      available: false,
      problems: [`the sandbox does not support ${process.platform} yet`],
      notes: [],
    }
  }
  const problems = missingPrograms(network, path)
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

function missingPrograms(network: boolean, path: string): string[] {
  const needed: readonly (readonly [string, string])[] = [
    ['bwrap', 'bubblewrap'],
    ['rg', 'ripgrep'],
    // sandbox-runtime uses it to find the other programs.
    ['which', 'debianutils'],
    ...(network ? [['socat', 'socat'] as const] : []),
  ]
  return needed
    .filter(([program]) => findProgram(program, path) === undefined)
    .map(([program, pkg]) => `${program} is missing (on Debian: apt-get install ${pkg})`)
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
