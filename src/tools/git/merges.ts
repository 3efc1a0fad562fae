import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { readGitFile } from './git-files.ts'
import type { ConflictSide, MergeConflict, MergePreview, MergeResult } from './repository.ts'
import { createCommit, isAncestor } from './worktree-changes.ts'
import type { WorktreePlace } from './worktree-place.ts'
import { writeRecord } from './worktree-place.ts'
import type { CommitScope, WorktreeScope } from './worktrees.ts'
import { findEntry, requireCommit, requireWorktree } from './worktrees.ts'

/*
 * Merges in memory (`git merge-tree`): no working tree is needed, and with conflicts nothing has changed. The branch moves with one
 * `update-ref` that expects its old commit, so that of two merges at a time one fails instead of being lost.
 */

/** Merges two commits without a working tree. */
export async function previewMerge(
  scope: WorktreeScope,
  { ours, theirs }: { ours: string; theirs: string },
): Promise<MergePreview> {
  return previewCommits(scope, await requireCommit(scope, ours), await requireCommit(scope, theirs))
}

async function previewCommits(scope: WorktreeScope, ours: string, theirs: string): Promise<MergePreview> {
  const { git } = scope
  const args = ['merge-tree', '--write-tree', '--allow-unrelated-histories', '-z', ours, theirs]
  const { stdout } = await git.run(args, { statuses: [0, 1] })
  return readPreview(scope, stdout.toString('utf8').split('\0'))
}

/** The tree; entries `mode object stage\tpath`; an empty field; messages `count path… kind text`. */
async function readPreview(scope: WorktreeScope, fields: readonly string[]): Promise<MergePreview> {
  const [tree = ''] = fields
  const end = fields.indexOf('', 1)
  const stages = new Map<string, Map<string, string>>()
  for (const entry of fields.slice(1, end)) {
    const [, mode = '', object = '', stage = '', path = ''] = /^(\d+) (\w+) (\d)\t(.+)$/s.exec(entry) ?? []
    const versions = stages.get(path) ?? new Map<string, string>()
    versions.set(stage, mode === '160000' ? '' : object)
    stages.set(path, versions)
  }
  const kinds = conflictKinds(fields.slice(end + 1))
  const conflicts: MergeConflict[] = []
  for (const [path, versions] of stages) {
    const side = (stage: string) => readSide(scope, versions.get(stage))
    const kind = kinds.get(path) ?? 'contents'
    conflicts.push({ path, kind, base: await side('1'), ours: await side('2'), theirs: await side('3') })
  }
  return { conflicts, tree }
}

function conflictKinds(fields: readonly string[]): Map<string, string> {
  const kinds = new Map<string, string>()
  for (let index = 0; index < fields.length; ) {
    const count = Number(fields[index])
    if (!Number.isSafeInteger(count) || count < 1) break
    const paths = fields.slice(index + 1, index + 1 + count)
    const kind = fields[index + 1 + count] ?? ''
    const name = /^CONFLICT \((.+)\)$/.exec(kind)?.[1]
    if (name !== undefined) for (const path of paths) kinds.set(path, name)
    index += count + 3
  }
  return kinds
}

const MAX_SIDE_CHARS = 60_000

async function readSide({ git }: WorktreeScope, object: string | undefined): Promise<ConflictSide> {
  if (object === undefined) return {}
  if (object === '') return { text: 'a submodule' }
  const { stdout } = await git.run(['cat-file', 'blob', object])
  if (stdout.subarray(0, 8000).includes(0)) return { binary: true }
  const text = stdout.toString('utf8')
  return text.length > MAX_SIDE_CHARS ? { text: text.slice(0, MAX_SIDE_CHARS), truncated: true } : { text }
}

export interface MergeRequest {
  into: WorktreeId
  theirs: string
  message: string
}

/** Merges into the branch of a worktree and updates its files. */
export async function mergeIntoWorktree(
  scope: CommitScope,
  { into, theirs, message }: MergeRequest,
): Promise<MergeResult> {
  const place = requireWorktree(scope, into)
  const [head, other] = [await requireCommit(scope, place.ref), await requireCommit(scope, theirs)]
  const result: MergeResult = (await isAncestor(scope, other, head))
    ? { merged: true, head }
    : await mergeCommits(scope, { place, head, other, message })
  // Also if the merge was made before a crash: the files may be those of the commit before it.
  if (result.merged) await resetFiles(scope, place)
  return result
}

async function mergeCommits(
  scope: CommitScope,
  { place, head, other, message }: { place: WorktreePlace; head: string; other: string; message: string },
): Promise<MergeResult> {
  const { conflicts, tree } = await previewCommits(scope, head, other)
  if (conflicts.length > 0) return { merged: false, conflicts }
  const commit = await createCommit(scope, { tree, parents: [head, other], message })
  await scope.git.run(['update-ref', '-m', 'troupe: merge', place.ref, commit, head])
  return { merged: true, head: commit }
}

/** The files of the worktree as in its branch; files that `.gitignore` excludes stay, such as caches of a build. */
export async function resetFiles(scope: WorktreeScope, place: WorktreePlace): Promise<void> {
  const { git } = scope
  rmSync(place.pendingMerge, { force: true })
  const entry = findEntry(scope, place)
  // An unsandboxed command may have checked out something else.
  if (!entry || readGitFile(join(entry.gitFolder, 'HEAD')) !== `ref: ${place.ref}\n`)
    await git.run(['symbolic-ref', 'HEAD', place.ref], { worktree: place.path })
  await git.run(['reset', '--hard', '--quiet'], { worktree: place.path })
  await git.run(['clean', '-f', '-d', '--quiet'], { worktree: place.path })
}

/** Writes a merge with its conflict markers into the files of a worktree, for an agent to resolve. */
export async function startMerge(scope: CommitScope, request: MergeRequest): Promise<MergeResult> {
  const place = requireWorktree(scope, request.into)
  const [head, other] = [await requireCommit(scope, place.ref), await requireCommit(scope, request.theirs)]
  if (await isAncestor(scope, other, head)) return { merged: true, head }
  const { conflicts, tree } = await previewCommits(scope, head, other)
  if (conflicts.length === 0) return mergeIntoWorktree(scope, request)
  await resetFiles(scope, place)
  writeRecord(place.pendingMerge, { merging: other })
  await scope.git.run(['read-tree', '--reset', '-u', tree], { worktree: place.path })
  return { merged: false, conflicts }
}
