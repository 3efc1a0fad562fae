import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { WorktreeId } from '../../kernel/worktree.ts'
import type { ChangedFile, Commit, SkippedChange, StagedChanges } from './repository.ts'
import { identityEnvironment } from './user-settings.ts'
import type { WorktreePlace } from './worktree-place.ts'
import { readRecord } from './worktree-place.ts'
import type { CommitScope, WorktreeScope } from './worktrees.ts'
import { describeWorktree, requireWorktree } from './worktrees.ts'

/*
 * The changes of a worktree. They are staged in the index of the worktree, which belongs to Troupe, and compared with the base as trees: committed
 * or not, untracked or not makes no difference. What git cannot keep is unstaged again and reported.
 */

export async function readChanges(
  scope: CommitScope,
  { id, base }: { id: WorktreeId; base?: string | undefined },
): Promise<StagedChanges> {
  const place = requireWorktree(scope, id)
  const start = base ?? (await describeWorktree(scope, place)).base
  const { tree, skipped } = await stageChanges(scope, place)
  return { files: await compareTrees(scope, start, tree), skipped, tree }
}

export async function commitChanges(
  scope: CommitScope,
  { id, message, tree: staged }: { id: WorktreeId; message: string; tree?: string | undefined },
): Promise<Commit> {
  const { git } = scope
  const place = requireWorktree(scope, id)
  const { base, head } = await describeWorktree(scope, place)
  const { tree, skipped } =
    staged !== undefined && (await isTree(scope, staged))
      ? { tree: staged, skipped: [] }
      : await stageChanges(scope, place)
  const files = await compareTrees(scope, base, tree)
  const pending = readRecord(place.pendingMerge)?.merging
  const unresolved = pending === undefined ? [] : await unresolvedFiles(scope, { head, tree })
  if (unresolved.length > 0) return { head, files, skipped, unresolved }
  const isMerge = pending !== undefined && !(await isAncestor(scope, pending, head))
  const unchanged = (await git.text(['rev-parse', `${head}^{tree}`])) === tree
  if (unchanged && !isMerge) {
    rmSync(place.pendingMerge, { force: true })
    return { head, files, skipped, unresolved }
  }
  const parents = isMerge && pending !== undefined ? [head, pending] : [head]
  const commit = await createCommit(scope, { tree, parents, message })
  await git.run(['update-ref', '-m', 'troupe: commit', place.ref, commit, head])
  rmSync(place.pendingMerge, { force: true })
  return { head: commit, files, skipped, unresolved }
}

/** Plumbing: unlike `git commit`, it runs no hook and signs nothing, whatever is configured. */
export async function createCommit(
  { git, settings }: CommitScope,
  { tree, parents, message }: { tree: string; parents: readonly string[]; message: string },
): Promise<string> {
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent])]
  const input = message.trim() === '' ? 'Work of an agent\n' : `${message.trim()}\n`
  return git.text(args, { input, env: identityEnvironment(settings) })
}

export async function isAncestor({ git }: WorktreeScope, older: string, newer: string): Promise<boolean> {
  const args = ['merge-base', '--is-ancestor', older, newer]
  return (await git.run(args, { statuses: [0, 1] })).status === 0
}

/** Trees that no commit has are removed by `git gc` after some days. */
async function isTree({ git }: WorktreeScope, tree: string): Promise<boolean> {
  return (await git.run(['cat-file', '-e', `${tree}^{tree}`], { statuses: [0, 1, 128] })).status === 0
}

const MAX_SKIPPED = 100
const UNREADABLE = /error: open\("(.+?)"\): (.+)|error: unable to index file '(.+?)'/g
const EMPTY_REPOSITORY = /'(.+?)\/?' does not have a commit checked out/

/** Stages everything; returns the tree, and what was left out. */
async function stageChanges(
  scope: CommitScope,
  place: WorktreePlace,
): Promise<{ tree: string; skipped: SkippedChange[] }> {
  const { git } = scope
  const options = { worktree: place.path }
  const skipped: SkippedChange[] = []
  const excludes = ['-c', `core.excludesFile=${scope.settings.excludesFile}`]
  for (;;) {
    const paths = skipped.map(({ path }) => `:(top,exclude,literal)${path}`)
    const args = [...excludes, 'add', '--all', '--sparse', '--ignore-errors', '--', ':(top)', ...paths]
    const { status, stderr } = await git.run(args, { ...options, statuses: [0, 1, 128] })
    if (status === 0) break
    const found = [...findUnreadable(stderr)].filter(
      ({ path }, index, all) =>
        // Git may report a file twice: that it cannot be opened, and that it cannot be indexed.
        all.findIndex((other) => other.path === path) === index && skipped.every((known) => known.path !== path),
    )
    if (found.length === 0 || skipped.length > MAX_SKIPPED) {
      // Again, for the error that says what to do.
      await git.run(args, options)
      break
    }
    skipped.push(...found)
  }
  skipped.push(...(await unstageUnsupported(scope, place)), ...(await filesInSubmodules(scope, place)))
  return { tree: await git.text(['write-tree'], options), skipped }
}

function* findUnreadable(stderr: string): Generator<SkippedChange> {
  const empty = EMPTY_REPOSITORY.exec(stderr)?.[1]
  if (empty !== undefined) yield { path: empty, reason: 'a repository inside the worktree' }
  for (const [, opened, cause, indexed] of stderr.matchAll(UNREADABLE)) {
    const path = opened ?? indexed
    if (path !== undefined) yield { path, reason: cause ?? 'it cannot be read' }
  }
}

interface RawChange {
  status: string
  oldMode: string
  newMode: string
  oldObject: string
  newObject: string
  path: string
  from?: string
}

/** Submodules and files of Git LFS as they were: a worktree has neither, only placeholders of them. */
async function unstageUnsupported(scope: WorktreeScope, place: WorktreePlace): Promise<SkippedChange[]> {
  const { git } = scope
  const options = { worktree: place.path }
  const raw = await git.text(
    ['diff-index', '--cached', '--raw', '--no-renames', '-z', '--abbrev=64', place.ref],
    options,
  )
  const changes = parseRaw(raw)
  const lfs = await lfsFiles(scope, place, changes)
  const unsupported = changes.flatMap((change) => {
    if ([change.oldMode, change.newMode].includes(GITLINK))
      return [{ change, reason: 'a submodule or a repository inside the worktree; change it in a checkout of its own' }]
    return lfs.has(change.path) ? [{ change, reason: 'a file of Git LFS; commit it by hand' }] : []
  })
  if (unsupported.length === 0) return []
  const lines = unsupported.map(({ change }) => `${change.oldMode} ${change.oldObject}\t${change.path}\0`)
  await git.run(['update-index', '-z', '--index-info'], { ...options, input: lines.join('') })
  return unsupported.map(({ change, reason }) => ({ path: change.path, reason }))
}

/** The changed files whose content Git LFS keeps, if they are not just pointers. */
async function lfsFiles(
  { git }: WorktreeScope,
  place: WorktreePlace,
  changes: readonly RawChange[],
): Promise<ReadonlySet<string>> {
  const written = changes.filter(({ newMode }) => newMode.startsWith('100'))
  if (written.length === 0) return new Set()
  const input = written.map(({ path }) => `${path}\0`).join('')
  const output = await git.text(['check-attr', '-z', '--stdin', 'filter'], { worktree: place.path, input })
  const fields = output.split('\0')
  const paths = fields.filter((_, index) => index % 3 === 0 && fields[index + 2] === 'lfs')
  return new Set(paths)
}

/** Files in the empty folder of a submodule: git does not see them. */
async function filesInSubmodules({ git }: WorktreeScope, place: WorktreePlace): Promise<SkippedChange[]> {
  const staged = await git.text(['ls-files', '--stage', '-z'], { worktree: place.path })
  const submodules = staged.split('\0').filter((line) => line.startsWith(`${GITLINK} `))
  return submodules.flatMap((line) => {
    const path = line.slice(line.indexOf('\t') + 1)
    const folder = join(place.path, path)
    const isFilled = existsSync(folder) && readdirSync(folder).length > 0
    return isFilled ? [{ path, reason: 'files inside a submodule; change them in a checkout of the submodule' }] : []
  })
}

async function unresolvedFiles(
  { git }: WorktreeScope,
  { head, tree }: { head: string; tree: string },
): Promise<string[]> {
  const raw = await git.text(['diff-tree', '-r', '--raw', '--no-renames', '-z', '--abbrev=64', head, tree])
  const unresolved: string[] = []
  for (const { path, newMode, newObject } of parseRaw(raw)) {
    if (!newMode.startsWith('100')) continue
    const { stdout } = await git.run(['cat-file', 'blob', newObject])
    if (hasConflictMarkers(stdout)) unresolved.push(path)
  }
  return unresolved
}

/** Whether a file has all three markers of a conflict, each at the start of a line. */
function hasConflictMarkers(content: Buffer): boolean {
  if (!content.includes('<<<<<<<')) return false
  const text = content.toString('utf8')
  return /^<{7} /m.test(text) && /^={7}$/m.test(text) && /^>{7} /m.test(text)
}

export async function compareTrees(scope: WorktreeScope, base: string, tree: string): Promise<ChangedFile[]> {
  const { git } = scope
  const raw = await git.text(['diff-tree', '-r', '--raw', '-M', '-z', '--abbrev=64', base, tree])
  return Promise.all(parseRaw(raw).map((change) => toChangedFile(scope, change)))
}

const GITLINK = '160000'
const TYPES: Readonly<Record<string, ChangedFile['type']>> = {
  '100755': 'executable',
  '120000': 'link',
  [GITLINK]: 'submodule',
}
const CHANGES: Readonly<Record<string, ChangedFile['change']>> = { A: 'created', D: 'deleted', R: 'renamed' }
const MAX_TARGET_CHARS = 4096

async function toChangedFile({ git }: WorktreeScope, raw: RawChange): Promise<ChangedFile> {
  const { status, oldMode, newMode, oldObject, newObject, path, from } = raw
  const change = CHANGES[status] ?? 'modified'
  const type = TYPES[change === 'deleted' ? oldMode : newMode] ?? 'file'
  const target = type === 'link' && change !== 'deleted' ? await git.run(['cat-file', 'blob', newObject]) : undefined
  return {
    path,
    change,
    ...(from === undefined ? undefined : { from }),
    type,
    ...(target ? { target: target.stdout.toString('utf8').slice(0, MAX_TARGET_CHARS) } : undefined),
    ...(change === 'modified' && oldObject === newObject ? { mode_only: true as const } : undefined),
  }
}

/** `:old-mode new-mode old-object new-object status`, then one path, or two for a rename, all ended by NUL. */
function parseRaw(text: string): RawChange[] {
  const fields = text.split('\0')
  const changes: RawChange[] = []
  for (let index = 0; index < fields.length; ) {
    const [oldMode = '', newMode = '', oldObject = '', newObject = '', status = ''] = (fields[index++] ?? '').split(' ')
    if (!oldMode.startsWith(':')) continue
    const first = fields[index++] ?? ''
    const renamed = status.startsWith('R') ? { from: first, path: fields[index++] ?? '' } : { path: first }
    changes.push({ oldMode: oldMode.slice(1), newMode, oldObject, newObject, status: status.charAt(0), ...renamed })
  }
  return changes
}
