import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isWithin } from '../files/protected-paths.ts'
import type { GitFolders } from './git-errors.ts'
import { toGitError } from './git-errors.ts'
import type { GitCommand, GitOutput, GitProgram } from './git-process.ts'
import { runGit, SAFE_SETTINGS, settingsEnvironment } from './git-process.ts'
import type { ProgramSettings } from './program-settings.ts'

export interface GitOptions extends Omit<GitCommand, 'args'> {
  /** Statuses that are no failure. Default: 0. */
  statuses?: readonly number[]
  /** The worktree that the command works in. A lock that a killed process left in it is removed. */
  worktree?: string
}

/** Git in one repository. */
export interface Git {
  /** Throws an error that says what to do, unless the status is expected. */
  run(args: readonly string[], options?: GitOptions): Promise<GitOutput>
  /** The output without the line break at its end. */
  text(args: readonly string[], options?: GitOptions): Promise<string>
}

export interface GitDeps {
  program: GitProgram
  settingsFor: ProgramSettings
}

const LOCK = /Unable to create '(.+\.lock)': File exists/
/** A worktree that another process is just adding: git reads its files before they are written, and fails (race condition). */
const HALF_ADDED = /failed to read .*worktrees\/[^/]+\/\w+: Success/
const LOCK_ATTEMPTS = 40
const LOCK_DELAY_MS = 250

/** Git in the working tree `folder`, or in a linked one of the same repository. */
export function createGit({ program, settingsFor }: GitDeps, folder: string, folders: GitFolders): Git {
  const run = async (args: readonly string[], options: GitOptions = {}): Promise<GitOutput> => {
    const { statuses = [0], worktree, ...command } = options
    const from = worktree ?? folder
    const settings = await settingsFor(program, from)
    const env = { ...settingsEnvironment([...SAFE_SETTINGS, ...settings]), ...command.env }
    const located = ['-C', from, ...args]
    for (let attempt = 1; ; attempt++) {
      const output = await runGit(program, { ...command, args: located, env })
      if (output.status !== null && statuses.includes(output.status)) return output
      const lock = LOCK.exec(output.stderr)?.[1]
      const isPassing = lock !== undefined || HALF_ADDED.test(output.stderr)
      if (!isPassing || attempt === LOCK_ATTEMPTS) throw toGitError(args, output, folders)
      if (lock !== undefined && worktree !== undefined && isOwnLock(lock, folders) && !isGitRunning(worktree))
        rmSync(lock, { force: true })
      else await delay(LOCK_DELAY_MS, undefined, program.signal ? { signal: program.signal } : {})
    }
  }
  return {
    run,
    text: async (args, options) => (await run(args, options)).stdout.toString('utf8').replace(/\n$/, ''),
  }
}

/** Locks of worktrees that Troupe opened; those of the checkout belong to the user. */
function isOwnLock(lock: string, { repository }: GitFolders): boolean {
  return isWithin(lock, `${repository}/worktrees`)
}

/**
 * Whether a git process works in this folder, as one that outlived the process that started it. Unique, because the path contains the id of
 * the run. Without /proc nobody is found.
 */
export function isGitRunning(folder: string): boolean {
  return processes().some((pid) => {
    try {
      const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return basename(program) === 'git' && args.includes(folder)
    } catch {
      return false
    }
  })
}

function processes(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
  } catch {
    return []
  }
}
