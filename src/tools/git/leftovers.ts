import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { WorktreeId } from '../../kernel/worktree.ts'
import { isWithin } from '../files/protected-paths.ts'
import { entriesIn, listWorktrees } from './git-files.ts'
import type { Leftover } from './repository.ts'
import { BRANCH_PREFIX, isWorktreeId, placeFor, worktreeNameOf } from './worktree-place.ts'
import type { WorktreeScope } from './worktrees.ts'
import { resolveCommit } from './worktrees.ts'

/** Worktrees and branches of Troupe in this repository, and folders that git does not know. */
export async function listWorktreeIds({ git, checkout }: WorktreeScope): Promise<WorktreeId[]> {
  const refs = await git.text(['for-each-ref', '--format=%(refname)', `refs/heads/${BRANCH_PREFIX}`])
  const listed = listWorktrees(checkout.common)
    .map(({ path }) => path)
    .filter((path) => isWithin(path, checkout.worktrees))
  const ids = new Map<string, WorktreeId>()
  const add = (run_id: string | undefined, name: string | undefined) => {
    // A branch with another name is not of Troupe, whatever its prefix.
    if (run_id !== undefined && name !== undefined && isWorktreeId({ run_id, name }))
      ids.set(`${run_id}/${name}`, { run_id, name })
  }
  for (const ref of refs.split('\n')) add(...parts(ref.slice(`refs/heads/${BRANCH_PREFIX}`.length)))
  for (const path of [...listed, ...placesIn(checkout.worktrees)])
    add(...parts(path.slice(checkout.worktrees.length + 1)))
  return [...ids.values()]
}

/** The same, with what is in them. */
export async function listLeftovers(scope: WorktreeScope): Promise<Leftover[]> {
  const found: Leftover[] = []
  for (const id of await listWorktreeIds(scope)) found.push(await describeLeftover(scope, id))
  return found
}

function parts(path: string): [string | undefined, string | undefined] {
  const [run_id, name, ...more] = path.split('/')
  return more.length > 0 ? [undefined, undefined] : [run_id, name]
}

/** The folders of worktrees, also those that only have a file beside them: a process was killed while it made or removed them. */
function placesIn(root: string): string[] {
  const runs = entriesIn(root).filter((entry) => entry.isDirectory())
  return runs.flatMap((run) =>
    entriesIn(join(root, run.name)).map(({ name }) => join(root, run.name, worktreeNameOf(name))),
  )
}

async function describeLeftover(scope: WorktreeScope, id: WorktreeId): Promise<Leftover> {
  const { git, checkout } = scope
  const { path, branch, ref } = placeFor(checkout.worktrees, id)
  const hasFolder = existsSync(path)
  const hasBranch = (await resolveCommit(scope, ref)) !== undefined
  const commits = hasBranch ? await git.text(['rev-list', '--count', `HEAD..${ref}`]) : '0'
  const status = hasFolder
    ? await git.run(['status', '--porcelain', '-z', '--ignore-submodules=all', '--no-renames'], {
        worktree: path,
        statuses: [0, 128],
      })
    : undefined
  const entries = status?.stdout.toString('utf8').split('\0') ?? []
  const uncommitted = entries.filter((entry) => entry !== '' && !/^\?\? (.*\/)?\.troupe\/$/.test(entry)).length
  return { id, branch, ...(hasFolder ? { path } : undefined), commits: Number(commits), uncommitted }
}
