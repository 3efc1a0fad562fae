import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import { isPartial, partialText } from '../../src/views/result-status.ts'
import { capitalize, formatDayName } from '../design/format.ts'
import type { ViewState } from '../design/state.tsx'

/* The list of runs as rows with group headings: Needs attention, Running, then by day. Pure functions; the page only draws. */

export type ListItem = { kind: 'group'; title: string; count: number } | { kind: 'run'; runId: string; group: string }

export interface ListedState {
  state: ViewState
  /** Set if the word for the state is not the usual one. */
  label?: string
  /** The state whose colour and shape it has, if another. */
  look?: ViewState
}

/** The state that a person acts on: a live run with an open question needs somebody, one without a process is interrupted. */
export function runState(run: RunItem, summary: RunSummary | undefined): ListedState {
  const live = run.status === 'pending' || run.status === 'running' || run.status === 'waiting'
  if (isPartial(run)) {
    const text = partialText(run.stop_reason, summary?.progress ?? null)
    return { state: 'completed', look: 'stalled', label: capitalize(text) }
  }
  if (!live) return { state: run.status as ViewState }
  if (run.status === 'waiting' || run.open_gates > 0) return { state: 'waiting' }
  if (run.status === 'pending') return { state: 'pending' }
  if (!run.running) return { state: 'stalled', label: 'Interrupted' }
  if (summary?.stalled) return { state: 'stalled' }
  return { state: 'running' }
}

export interface RunListInput {
  runs: readonly RunItem[]
  summaries: ReadonlyMap<string, RunSummary>
  states: readonly ViewState[]
  now: number
}

/** The rows in order. */
export function listRuns({ runs, summaries, states, now }: RunListInput): ListItem[] {
  const groups = new Map<string, string[]>([
    ['Needs attention', []],
    ['Running', []],
  ])
  for (const run of [...runs].sort(newestFirst)) {
    const { state } = runState(run, summaries.get(run.run_id))
    if (states.length > 0 && !states.includes(state)) continue
    const title = groupTitle(state, run.created_at, now)
    groups.set(title, [...(groups.get(title) ?? []), run.run_id])
  }
  return [...groups].flatMap(([title, ids]) =>
    ids.length === 0
      ? []
      : [
          { kind: 'group' as const, title, count: ids.length },
          ...ids.map((runId) => ({ kind: 'run' as const, runId, group: title })),
        ],
  )
}

function groupTitle(state: ViewState, createdAt: number, now: number): string {
  if (state === 'waiting' || state === 'stalled') return 'Needs attention'
  if (state === 'running' || state === 'pending') return 'Running'
  return formatDayName(createdAt, now)
}

function newestFirst(left: RunItem, right: RunItem): number {
  return right.created_at - left.created_at || (left.run_id < right.run_id ? 1 : -1)
}

/** Fresh rows replace known ones; rows that are known stay. */
export function mergeRuns(known: readonly RunItem[], fresh: readonly RunItem[]): RunItem[] {
  const byId = new Map(known.map((run) => [run.run_id, run]))
  for (const run of fresh) byId.set(run.run_id, run)
  return [...byId.values()]
}

/**
 * The rows while the pointer or the focus is on the list: in the order that is shown, so that nothing moves under the hand. Only rows that
 * come after all others are added, as a scroll brings them.
 */
export function holdOrder(shown: readonly ListItem[], wanted: readonly ListItem[]): ListItem[] {
  const known = new Set(shown.map(itemKey))
  let end = wanted.length
  while (end > 0 && !known.has(itemKey(wanted[end - 1] as ListItem))) end -= 1
  return [...shown, ...(end === 0 && shown.length > 0 ? [] : wanted.slice(end))]
}

/** The number of runs that stand elsewhere than they should, or are missing. */
export function movedRuns(shown: readonly ListItem[], wanted: readonly ListItem[]): number {
  const known = new Set(shown.map(itemKey))
  return wanted.filter((item) => item.kind === 'run' && !known.has(itemKey(item))).length
}

function itemKey(item: ListItem): string {
  return item.kind === 'group' ? `group ${item.title}` : `${item.runId} ${item.group}`
}

export function sameItems(left: readonly ListItem[], right: readonly ListItem[]): boolean {
  return (
    left.length === right.length &&
    left.every((item, index) => {
      const other = right[index] as ListItem
      return itemKey(item) === itemKey(other) && (item.kind !== 'group' || item.count === (other as typeof item).count)
    })
  )
}
