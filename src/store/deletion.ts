import { TroupeError } from '../errors.ts'

/** Deleting runs. Nothing is deleted by itself. */
export interface DeletionStore {
  /**
   * Pairs of runs of which neither can be deleted without the other: they share a session, or one reads a session of the
   * other. Not all pairs, but enough to connect every such group.
   */
  linkedRuns(project: string): Promise<(readonly [string, string])[]>
  /** About the bytes that deleting these runs frees: their events, and the blobs that no other run uses. */
  sizeOfRuns(run_ids: readonly string[]): Promise<number>
  /**
   * Deletes runs with their events, sessions, gates, commands and artifacts, in one transaction. `run_busy` while one of them
   * is leased; `session_busy` if a run that is not named is linked to one of them.
   */
  deleteRuns(run_ids: readonly string[]): Promise<void>
  /** Deletes blobs that no run uses and returns unused space to the file system; `run_busy` while any run is leased. Returns the bytes freed. */
  compact(): Promise<number>
}

export function linkedRunError(run_id: string, others: readonly string[]): TroupeError {
  const both = [run_id, ...others].join(' ')
  return new TroupeError(
    'session_busy',
    `run ${run_id} cannot be deleted without ${others.join(', ')}: they share a session, or one was forked from the other`,
    { hint: `delete them together: troupe delete ${both}`, alternatives: [...others], retry: false },
  )
}

export function compactionBusyError(run_id: string): TroupeError {
  return new TroupeError('run_busy', `the store cannot be compacted: run ${run_id} is executing`, {
    hint: 'run troupe prune again when no run is executing',
  })
}

/** The error if a link leads from a deleted run to one that stays. */
export function brokenLinkError(
  links: readonly (readonly [string, string])[],
  deleted: ReadonlySet<string>,
): TroupeError | undefined {
  const broken = links.filter(([a, b]) => deleted.has(a) !== deleted.has(b))
  const [first] = broken
  if (!first) return undefined
  const run_id = deleted.has(first[0]) ? first[0] : first[1]
  const others = broken.flatMap(([a, b]) => (a === run_id ? [b] : b === run_id ? [a] : []))
  return linkedRunError(run_id, [...new Set(others)])
}
