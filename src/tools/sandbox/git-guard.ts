import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, writeFileSync } from 'node:fs'
import { devNull } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { findGitFolder } from '../files/git-hooks.ts'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import { pathSegments } from '../files/workspace.ts'
import type { FilePolicy } from './file-policy.ts'
import type { GitFolderLocation, UnsafeEntry } from './git-folder-check.ts'
import {
  checkCommondir,
  checkNewGitFolder,
  checkUnfinishedOperation,
  fileVersion,
  gitFolderFingerprint,
  pendingExecLines,
} from './git-folder-check.ts'
import { quarantineFile } from './quarantine-file.ts'
import { FolderScans, isBareRepository, submoduleFolders, worktreeFolders } from './workspace-guard.ts'

/** The repositories of the writable folders before a command, by real path. Survives the process as JSON. */
export interface RepositoryState {
  roots: readonly string[]
  /** Git folders with protected config and hooks. */
  known: readonly string[]
  fingerprints: readonly (readonly [git: string, fingerprint: string])[]
  execLines: readonly (readonly [git: string, lines: readonly string[]])[]
  commondirs: readonly string[]
}

/*
 * Prevents a sandbox escape by delayed execution through git: a repository that a command creates, even one that only a
 * gitlink in the index refers to, makes the next `git status` of a person run programs on the host.
 * 1. Repositories that exist before a command have protected config and hooks (see workspace-guard.ts). All others are checked
 *    when the command ends; config, hooks and redirections that are not known to be harmless are quarantined and reported.
 * 2. Gitlinks are followed at any depth, because git follows them. Their list is kept until the index changes.
 * 3. What a concurrent command creates is checked at its own end.
 * 4. If this process is killed during a command, others check (interrupted-commands.ts).
 */
export class GitGuard {
  private readonly git: string | undefined
  private readonly gitlinks = new Map<string, { version: string; trees: readonly string[] }>()

  /** `git` is the trusted program of the host; without it, nobody follows gitlinks either. */
  constructor(git: string | undefined) {
    this.git = git
  }

  /** The repositories before a command. */
  record(files: FilePolicy, scans = new FolderScans()): RepositoryState {
    const known = new Set(files.denyWrite.filter((path) => basename(path) === 'config.worktree').map(dirname))
    const before = this.#findGitFolders(files.allowWrite, scans)
    return {
      roots: files.allowWrite,
      known: [...known],
      fingerprints: before.filter((git) => !known.has(git)).map((git) => [git, gitFolderFingerprint(git)]),
      execLines: before.map((git) => [git, pendingExecLines(git)]),
      commondirs: before.filter((git) => existsSync(join(git, 'commondir'))),
    }
  }

  /** Checks the repositories after a command, given the state before it. Returns notes. */
  check({ roots, ...before }: RepositoryState, scans = new FolderScans()): string[] {
    const known = new Set(before.known)
    const commondirs = new Set(before.commondirs)
    const fingerprints = new Map(before.fingerprints)
    const execLines = new Map(before.execLines)
    const notes: string[] = []
    this.#findGitFolders(roots, scans, (git) => {
      const root = roots.map(resolveRealPath).find((writable) => isWithin(git, writable))
      if (root === undefined) return
      const isNew = !known.has(git) && fingerprints.get(git) !== gitFolderFingerprint(git)
      const location = { git, root }
      const check = (open: string): UnsafeEntry[] => [
        ...(isNew ? checkNewGitFolder(open, location) : commondirs.has(git) ? [] : checkCommondir(open, location)),
        ...checkUnfinishedOperation(open, execLines.get(git) ?? []),
      ]
      notes.push(...quarantineEntries(location, check))
    })
    return notes
  }

  /** The real paths of all git folders in the writable folders. Each is visited before its gitlinks are read. */
  #findGitFolders(roots: readonly string[], scans: FolderScans, visit?: (git: string) => void): string[] {
    const found = new Set<string>()
    const trees = roots.flatMap((root) => scans.of(root).marked)
    for (let tree = trees.pop(); tree !== undefined; tree = trees.pop()) {
      for (const git of gitFoldersOf(tree)) {
        if (found.has(git)) continue
        found.add(git)
        visit?.(git)
        trees.push(...this.#gitlinkTrees(git, tree))
      }
    }
    return [...found]
  }

  /** The working trees that the index of a repository refers to as gitlinks, as submodules do. */
  #gitlinkTrees(git: string, tree: string): readonly string[] {
    const index = join(git, 'index')
    if (this.git === undefined || !existsSync(index)) return []
    const version = fileVersion(index)
    const cached = this.gitlinks.get(git)
    if (cached?.version === version) return cached.trees
    const trees = listGitlinks(this.git, git).map((path) => join(tree, path))
    this.gitlinks.set(git, { version, trees })
    return trees
  }
}

/** The git folders that git finds in a folder: its `.git` or, for a bare repository, the folder itself; with its parts. */
function gitFoldersOf(tree: string): string[] {
  const hasGit = lstatSync(join(tree, '.git'), { throwIfNoEntry: false }) !== undefined
  const git = hasGit ? findGitFolder(tree) : isBareRepository(tree) ? tree : undefined
  if (git === undefined || !existsSync(git)) return []
  return [git, ...worktreeFolders(git), ...submoduleFolders(git)].map(resolveRealPath)
}

/** A partial clone fetches missing objects by a program that its config names. */
const NO_FETCH = { GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: 'none', GIT_SSH_COMMAND: 'false' }

/** This git runs on the host: settings that run programs are overridden, and it fetches nothing. */
function listGitlinks(program: string, git: string): string[] {
  const settings = ['core.fsmonitor=false', `core.hooksPath=${devNull}`, 'safe.directory=*']
  const args = [...settings.flatMap((setting) => ['-c', setting]), `--git-dir=${git}`, 'ls-files', '--stage', '-z']
  const env = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: devNull, GIT_OPTIONAL_LOCKS: '0', ...NO_FETCH }
  try {
    const output = execFileSync(program, args, { env, maxBuffer: 256_000_000, timeout: 30_000, stdio: 'pipe' })
    const lines = output.toString('utf8').split('\0')
    return lines.filter((line) => line.startsWith('160000 ')).map((line) => line.slice(line.indexOf('\t') + 1))
  } catch {
    // Not a valid index: git of a person fails on it as well.
    return []
  }
}

function quarantineEntries({ git, root }: GitFolderLocation, check: (open: string) => UnsafeEntry[]): string[] {
  const segments = pathSegments(git.slice(root.length))
  const entries = withLinkFreeFolder(root, segments, check) ?? []
  return entries.flatMap(({ parent, name, reason }) => {
    const folder = [...segments, ...parent]
    const newName = attempt(() => withLinkFreeFolder(root, folder, (open) => replaceEntry(open, name, git)))
    if (newName === undefined) return []
    return [`'${[...folder, name].join('/')}' ${reason}; it was renamed to '${[...folder, newName].join('/')}'`]
  })
}

/** Renames an entry. A repository keeps a minimal config: without one, git fails where the missing file is masked. */
function replaceEntry(open: string, name: string, git: string): string | undefined {
  const newName = quarantineFile(open, name)
  const settings = `[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = ${basename(git) !== '.git'}\n`
  if (newName !== undefined && name === 'config') writeFileSync(`${open}/config`, settings, { flag: 'wx' })
  return newName
}

/** `undefined` on an error: the file is gone or owned by another user. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
