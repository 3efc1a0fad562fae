import { spawnSync } from 'node:child_process'
import { findProgram } from '../search/ripgrep.ts'
import { pidsCgroupParent } from './cgroup.ts'
import type { SandboxReport } from './sandbox.ts'

export interface SandboxRequirements {
  network: boolean
  /** Where programs are looked for, instead of the whole `PATH`. */
  path?: string
}

/** Looks whether commands can be sandboxed here. Starts one empty sandbox to be sure. */
export function describeSandbox({ network, path }: SandboxRequirements = { network: false }): SandboxReport {
  if (process.platform !== 'linux') {
    return {
      kind: 'none',
      available: false,
      problems: [`no sandbox for ${process.platform} has been verified yet`],
      notes: [],
    }
  }
  const problems = missingPrograms(network, path)
  const bwrap = findProgram('bwrap', path)
  if (problems.length === 0 && bwrap !== undefined) {
    const why = probeBubblewrap(bwrap)
    if (why !== undefined) problems.push(`bubblewrap cannot make a sandbox here: ${why}`)
  }
  return {
    kind: problems.length === 0 ? 'bubblewrap' : 'none',
    available: problems.length === 0,
    problems,
    notes: rootNotes(),
  }
}

function missingPrograms(network: boolean, path: string | undefined): string[] {
  const needed: readonly (readonly [string, string])[] = [
    ['bwrap', 'bubblewrap'],
    ['rg', 'ripgrep'],
    // The runtime asks it for everything else.
    ['which', 'debianutils'],
    ...(network ? [['socat', 'socat'] as const] : []),
  ]
  return needed
    .filter(([program]) => findProgram(program, path) === undefined)
    .map(([program, pkg]) => `${program} is missing (on Debian: apt-get install ${pkg})`)
}

/** Installed is not enough: containers and distributions may forbid the namespaces it needs. */
function probeBubblewrap(bwrap: string): string | undefined {
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
    env: { PATH: process.env.PATH },
  })
  if (status === 0) return undefined
  return error?.message ?? (stderr.trim().split('\n')[0] || `status ${status}`)
}

function rootNotes(): string[] {
  if (process.geteuid?.() !== 0) return []
  const bounded = pidsCgroupParent() !== undefined
  return [
    'running as root: prefer an ordinary user',
    ...(bounded ? [] : ['as root without a pids cgroup, processes are only counted a few times a second']),
  ]
}
