import { TroupeError } from '../../errors.ts'
import type { GitOutput } from './git-process.ts'
import type { RepositoryRefusal } from './repository.ts'

/** The folders of a command, for its error text. */
export interface GitFolders {
  /** The git folder of the repository. */
  repository: string
  /** The folder that worktrees are in. */
  worktrees: string
}

interface KnownFailure {
  pattern: RegExp
  /** With the groups of the pattern. */
  message(match: RegExpExecArray, folders: GitFolders): string
  hint(match: RegExpExecArray, folders: GitFolders): string
  retry?: true
}

/** Failures of git whose text does not say what to do. The messages of git are those of `LC_ALL=C`. */
const KNOWN_FAILURES: readonly KnownFailure[] = [
  {
    pattern: /No space left on device|Disk quota exceeded/,
    message: (_match, { worktrees }) => `the disk is full: git could not write to '${worktrees}' or the repository`,
    hint: () => 'free some space, then: troupe resume RUN; or put worktrees on another disk with XDG_STATE_HOME',
    retry: true,
  },
  {
    pattern: /Unable to create '(.+\.lock)': File exists/,
    message: ([, lock]) => `another git process uses the repository, or one has crashed: '${lock}' exists`,
    hint: ([, lock]) => `wait for it and resume the run; if no git is running, remove '${lock}'`,
    retry: true,
  },
  {
    pattern: /cannot lock ref '(.+?)': '(.+?)' exists; cannot create/,
    message: ([, wanted, existing]) => `the branch '${short(existing)}' is in the way of the branch '${short(wanted)}'`,
    hint: ([, , existing]) => `rename it: git branch -m ${short(existing)} NEW_NAME`,
  },
  {
    pattern: /'(.+?)' is already (?:checked out|used by worktree) at '(.+?)'/,
    message: ([, branch, path]) => `the branch '${branch}' is checked out in '${path}'`,
    hint: ([, , path]) => `check out another branch there, or remove that worktree: git worktree remove '${path}'`,
  },
  {
    pattern: /(Read-only file system|Permission denied)/,
    message: ([, reason], { repository, worktrees }) =>
      `git cannot write to '${repository}' or to '${worktrees}': ${reason}`,
    hint: () => 'make both folders writable for you; XDG_STATE_HOME chooses another folder for worktrees',
  },
  {
    pattern: /lazy fetching disabled|promisor remote|missing (?:blob|tree) object|unable to read (?:sha1 file|tree)/,
    message: () => 'the repository lacks objects: it is a partial clone, or damaged',
    hint: () => 'fetch them first with `git fetch --refetch`, or check the repository with `git fsck`',
  },
  {
    pattern:
      /index file (?:corrupt|smaller than expected)|bad (?:index file|signature)|object file .+ is empty|is corrupt/,
    message: () => 'the repository is damaged',
    hint: () => 'run `git fsck` in it and repair it first',
  },
]

/** A failed git command as an error that says what to do. */
export function toGitError(args: readonly string[], output: GitOutput, folders: GitFolders): TroupeError {
  const { stderr, stopped } = output
  const command = `git ${commandName(args)}`
  const options = { responsible: 'operator' as const, retry: false }
  if (stopped === 'missing') return refusalError(noGitRefusal(stderr))
  if (stopped === 'timeout') {
    const hint = 'is the disk slow or the repository on a network drive? resume the run to try again'
    return new TroupeError('tool_failed', `\`${command}\` did not end in time and was stopped`, {
      ...options,
      retry: true,
      hint,
    })
  }
  if (stopped === 'output') {
    const hint = 'the repository has too many files for worktrees'
    return new TroupeError('tool_failed', `\`${command}\` wrote too much output`, { ...options, hint })
  }
  for (const { pattern, message, hint, retry = false } of KNOWN_FAILURES) {
    const match = pattern.exec(stderr)
    if (!match) continue
    const folder = folders.repository
    const text = `${message(match, folders)} (repository: '${folder}')`
    return new TroupeError('tool_failed', text, { ...options, hint: hint(match, folders), retry })
  }
  const hint = `run \`${command}\` by hand in '${folders.repository}' to see more; \`git fsck\` checks the repository`
  return new TroupeError('tool_failed', `\`${command}\` failed: ${firstLines(stderr)}`, { ...options, hint })
}

export function refusalError({ message, hint }: RepositoryRefusal): TroupeError {
  const advice = `${hint}; or choose another folder with --workspace or --repo`
  return new TroupeError('invalid_input', `no git worktree can be opened: ${message}`, {
    responsible: 'operator',
    hint: advice,
  })
}

export function noGitRefusal(detail = ''): RepositoryRefusal {
  const cause = detail === '' ? '' : ` (${detail})`
  return {
    reason: 'no_git',
    message: `git worktrees need the program \`git\`, which is not in PATH${cause}`,
    hint: 'install git 2.38 or newer; on Debian: apt-get install git',
  }
}

function short(ref: string | undefined): string {
  return (ref ?? '').replace(/^refs\/heads\//, '')
}

/** The sub-command without options and paths. */
function commandName(args: readonly string[]): string {
  const start = args[0] === '-C' ? 2 : 0
  return args.slice(start).find((arg) => /^[a-z][a-z-]*$/.test(arg)) ?? ''
}

const MAX_LINES = 3

function firstLines(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('hint:'))
  return lines.slice(0, MAX_LINES).join('; ').slice(0, 500) || 'it gave no reason'
}
