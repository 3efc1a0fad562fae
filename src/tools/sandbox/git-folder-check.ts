import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseGitConfig } from '../files/git-config.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import { execLines, findUnsafeSetting, isUnsafeStrategy } from './git-settings.ts'

/** An entry of a git folder that makes git on the host run a program. */
export interface UnsafeEntry {
  /** The folder of the entry below the git folder; empty for the git folder itself. */
  parent: readonly string[]
  name: string
  reason: string
}

export interface GitFolderLocation {
  /** The real path of the git folder. */
  git: string
  /** The writable folder that contains it. */
  root: string
}

/** A file that git may read is never this large; a larger one counts as unsafe. */
const MAX_FILE_BYTES = 1_000_000

/**
 * The entries of a new git folder that are not known to be harmless. `open` is the folder by its descriptor, so that a symlink
 * placed meanwhile does not redirect the check (TOCTOU).
 */
export function checkNewGitFolder(open: string, location: GitFolderLocation): UnsafeEntry[] {
  const isInsideWorkspace = (path: string) => isWithin(resolveRealPath(resolve(location.git, path)), location.root)
  const configs = ['config', 'config.worktree'].flatMap((name) => {
    const text = readSmallFile(`${open}/${name}`)
    if (text === 'absent') return []
    const setting = text === undefined ? 'its type or size' : findUnsafeSetting(text.text, isInsideWorkspace)
    return setting === undefined ? [] : [entry(name, `has settings that may run programs (${setting})`)]
  })
  const hooks = hasHooks(`${open}/hooks`) ? [entry('hooks', 'contains git hooks')] : []
  return [...configs, ...hooks, ...checkCommondir(open, location)]
}

/** A `commondir` redirects git to the config and hooks of another folder. Linked working trees name their own repository. */
export function checkCommondir(open: string, { git }: GitFolderLocation): UnsafeEntry[] {
  const text = readSmallFile(`${open}/commondir`)
  if (text === 'absent') return []
  const owner = basename(dirname(git)) === 'worktrees' ? dirname(dirname(git)) : undefined
  const target = text && resolveRealPath(resolve(git, text.text.trim()))
  return owner !== undefined && target === resolveRealPath(owner)
    ? []
    : [entry('commondir', 'would redirect git to other hooks')]
}

/** `git rebase --continue` and `git cherry-pick --continue` execute what these files name. */
export function checkUnfinishedOperation(open: string, earlierExecLines: readonly string[]): UnsafeEntry[] {
  const todo = readSmallFile(`${open}/rebase-merge/git-rebase-todo`)
  const strategy = readSmallFile(`${open}/rebase-merge/strategy`)
  const options = readSmallFile(`${open}/sequencer/opts`)
  const isUnsafe = (file: typeof todo, check: (text: string) => boolean) =>
    file !== 'absent' && (file === undefined || check(file.text))
  const namesStrategy = (text: string) =>
    parseGitConfig(text).some(({ key, value }) => key === 'strategy' && isUnsafeStrategy(value))
  const addsCommand = (text: string) => execLines(text).some((line) => !earlierExecLines.includes(line))
  return [
    ...(isUnsafe(todo, addsCommand) ? [entry('git-rebase-todo', 'would run commands', ['rebase-merge'])] : []),
    ...(isUnsafe(strategy, isUnsafeStrategy) ? [entry('strategy', 'would run a program', ['rebase-merge'])] : []),
    ...(isUnsafe(options, namesStrategy) ? [entry('opts', 'would run a program', ['sequencer'])] : []),
  ]
}

/** The commands in the todo list of a rebase that is in progress. */
export function pendingExecLines(git: string): string[] {
  const todo = readSmallFile(`${git}/rebase-merge/git-rebase-todo`)
  return todo === 'absent' || todo === undefined ? [] : execLines(todo.text)
}

/** Changes when config, hooks or redirection of a git folder change. */
export function gitFolderFingerprint(git: string): string {
  const files = ['config', 'config.worktree', 'commondir'].map((name) => {
    const file = readSmallFile(join(git, name))
    return file === 'absent' || file === undefined ? file : file.text
  })
  return JSON.stringify([files, listNames(join(git, 'hooks')).map((name) => fileVersion(join(git, 'hooks', name)))])
}

/** Identifies the content of a file without reading it. */
export function fileVersion(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return stat ? [path, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ') : path
}

function entry(name: string, reason: string, parent: readonly string[] = []): UnsafeEntry {
  return { parent, name, reason }
}

function hasHooks(folder: string): boolean {
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat === undefined) return false
  return !stat.isDirectory() || listNames(folder).some((name) => !name.endsWith('.sample'))
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** `undefined` for a symlink, a device, a named pipe or a large file: none of them occurs in a git folder by itself. */
function readSmallFile(path: string): { text: string } | 'absent' | undefined {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return 'absent'
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const stat = fstatSync(fd)
    return stat.isFile() && stat.size <= MAX_FILE_BYTES ? { text: readFileSync(fd, 'utf8') } : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
