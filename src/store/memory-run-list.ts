import type { Status } from '../kernel/event.ts'
import type { MemoryRun } from './memory-run.ts'
import { searchWords, wordsOfEvent } from './search-words.ts'
import type { RunFilter } from './store.ts'

/** The runs of a filter, newest first. `runs` are in the order in which they were created. */
export function filterRuns(runs: readonly MemoryRun[], filter: RunFilter): MemoryRun[] {
  const { project, status, pattern, tags, before } = filter
  const words = searchWords(filter.text)
  const newest = runs.toReversed()
  const first = before === undefined ? 0 : newest.findIndex(({ identity }) => identity.run_id === before) + 1
  return newest
    .slice(before !== undefined && first === 0 ? newest.length : first)
    .filter(({ identity, projection }) => identity.project === project && (status?.includes(projection.status) ?? true))
    .filter(({ identity }) => pattern === undefined || identity.pattern === pattern)
    .filter(({ identity }) => tags?.every((tag) => identity.tags.includes(tag)) ?? true)
    .filter((run) => !words || hasWords(run, words))
    .slice(0, filter.limit)
}

/** Punctuation alone finds nothing. */
function hasWords({ events }: MemoryRun, searched: readonly string[]): boolean {
  const words = events.flatMap(wordsOfEvent)
  return searched.length > 0 && searched.every((start) => words.some((word) => word.startsWith(start)))
}

export function countStatuses(runs: readonly MemoryRun[]): Record<Status, number> {
  const counts = { pending: 0, running: 0, waiting: 0, completed: 0, failed: 0, cancelled: 0 }
  for (const { projection } of runs) counts[projection.status] += 1
  return counts
}
