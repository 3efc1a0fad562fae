import { TroupeError } from '../errors.ts'
import type { RunRow, Store } from '../store/store.ts'
import { requireRun } from './run-lookup.ts'

/*
 * Deleting runs of a project. Runs that share a session, or of which one reads the other's, are deleted together or not at all.
 */

export interface PruneOptions {
  /** Runs that ended more than this many days ago. */
  max_age_days: number
  /** Keep failed runs. Default: `false`. */
  keep_failed?: boolean
  /** Only report; delete nothing. Default: `false`. */
  dry_run?: boolean
}

/** When runs are deleted by themselves: only with this setting, when the troupe is closed. */
export type Retention = Omit<PruneOptions, 'dry_run'>

export interface DeletionReport {
  /** The deleted runs; with `dry_run`, those that would be deleted. */
  run_ids: string[]
  /** Old runs that stay, because a newer run shares a session with them or was forked from them. */
  kept: string[]
  /** About the bytes of these runs in the store. */
  bytes: number
  /** The bytes that the file has shrunk by; `null` if it has not, because a run is executing: the space is used again. */
  freed: number | null
}

export interface DeletionScope {
  store: Store
  project: string
  now(): number
}

const DAY_MS = 24 * 60 * 60 * 1000
const ENDED = ['completed', 'failed', 'cancelled'] as const
const RUNS_PER_TRANSACTION = 50

/** Deletes runs that are not executing. */
export async function deleteRuns(
  { store, project }: DeletionScope,
  run_ids: readonly string[],
): Promise<DeletionReport> {
  const ids = [...new Set(run_ids)]
  for (const run_id of ids) await requireRun(store, project, run_id)
  const bytes = await store.sizeOfRuns(ids)
  await store.deleteRuns(ids)
  return { run_ids: ids, kept: [], bytes, freed: await compact(store) }
}

/** Deletes old runs that have ended. */
export async function prune(scope: DeletionScope, options: PruneOptions): Promise<DeletionReport> {
  const { store } = scope
  const { groups, kept } = await prunableGroups(scope, options)
  const run_ids = groups.flat()
  const bytes = run_ids.length === 0 ? 0 : await store.sizeOfRuns(run_ids)
  if (options.dry_run) return { run_ids, kept, bytes, freed: 0 }
  await deleteGroups(store, groups)
  return { run_ids, kept, bytes, freed: await compact(store) }
}

/** Deletes old runs without compacting: the space is used again. */
export async function applyRetention(scope: DeletionScope, retention: Retention): Promise<void> {
  await deleteGroups(scope.store, (await prunableGroups(scope, retention)).groups)
}

async function prunableGroups(scope: DeletionScope, options: PruneOptions) {
  const { store, project } = scope
  checkMaxAge(options.max_age_days)
  const cutoff = scope.now() - options.max_age_days * DAY_MS
  const runs = await store.runs({ project, status: ENDED })
  const isOld = ({ ended_at, owner, status }: RunRow) =>
    ended_at !== null && ended_at < cutoff && owner === null && !(options.keep_failed && status === 'failed')
  const old = new Set(runs.filter(isOld).map(({ run_id }) => run_id))
  const all = connectedGroups([...old], await store.linkedRuns(project))
  const groups = all.filter((group) => group.every((run_id) => old.has(run_id)))
  const prunable = new Set(groups.flat())
  return { groups, kept: [...old].filter((run_id) => !prunable.has(run_id)) }
}

async function deleteGroups(store: Store, groups: readonly string[][]): Promise<void> {
  let batch: string[] = []
  for (const [index, group] of groups.entries()) {
    batch.push(...group)
    if (batch.length < RUNS_PER_TRANSACTION && index < groups.length - 1) continue
    await store.deleteRuns(batch)
    batch = []
  }
}

/** The runs, and those linked to them, in groups that are linked among themselves. */
function connectedGroups(run_ids: readonly string[], links: readonly (readonly [string, string])[]): string[][] {
  const neighbours = new Map<string, string[]>()
  for (const [a, b] of links) {
    neighbours.set(a, [...(neighbours.get(a) ?? []), b])
    neighbours.set(b, [...(neighbours.get(b) ?? []), a])
  }
  const seen = new Set<string>()
  return run_ids.flatMap((first) => {
    if (seen.has(first)) return []
    const group: string[] = []
    const queue = [first]
    for (let run_id = queue.pop(); run_id !== undefined; run_id = queue.pop()) {
      if (seen.has(run_id)) continue
      seen.add(run_id)
      group.push(run_id)
      queue.push(...(neighbours.get(run_id) ?? []))
    }
    return [group]
  })
}

async function compact(store: Store): Promise<number | null> {
  try {
    return await store.compact()
  } catch (thrown) {
    if (thrown instanceof TroupeError && thrown.code === 'run_busy') return null
    throw thrown
  }
}

export function checkMaxAge(days: unknown): void {
  if (typeof days === 'number' && Number.isFinite(days) && days >= 0) return
  throw new TroupeError('invalid_input', `\`max_age_days\` is ${String(days)}, not a number of days`, {
    hint: 'set `max_age_days` to 0 or more, such as 30',
  })
}
