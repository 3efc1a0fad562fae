import type { Event, EventType } from '../kernel/event.ts'
import { rowsSince } from '../run-model/run-model.ts'
import type { RunRow, Store } from '../store/store.ts'
import type { RunSummary } from '../views/run-summary.ts'
import { SUMMARY_EVENTS, summaryFrom } from '../views/run-summary.ts'
import type { TimelineSources } from '../views/timeline/reduce-timeline.ts'
import { newTimeline, reduceTimeline } from '../views/timeline/reduce-timeline.ts'
import type { Timeline } from '../views/timeline/timeline.ts'
import type { WaitingRequest } from '../views/waiting.ts'
import { requireRun } from './run-lookup.ts'
import type { RunMoment } from './run-pages.ts'
import { checkMoment, loadViews, pricesOf } from './run-pages.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/* Timelines and summaries of stored runs. Journals are read by page, so that a long one does not fill the memory. */

/** The timeline of a run after the event `seq`. */
export interface RunTimeline {
  seq: number
  timeline: Timeline
}

/** The patterns, prices and redaction of this troupe, for timelines that a program reduces itself. */
export async function timelineSources(parts: RuntimeParts): Promise<TimelineSources> {
  const patterns = await (await parts.registry.get()).complete()
  const { redactor } = parts.checkedPorts
  return {
    views: await loadViews(parts),
    prices: await pricesOf(parts),
    eventTypes: new Set(patterns.flatMap(({ events = {} }) => Object.keys(events))),
    steerable: new Set(patterns.flatMap(({ name, checkSteer }) => (checkSteer ? name : []))),
    ...(redactor ? { redactor } : undefined),
  }
}

export async function readTimeline(
  parts: RuntimeParts,
  run_id: string,
  { since = 0, ...moment }: RunMoment & { since?: number } = {},
): Promise<RunTimeline> {
  checkMoment(moment)
  await requireRun(parts.store, parts.project, run_id)
  const state = newTimeline(await timelineSources(parts))
  for await (const event of eventPages(parts.store, run_id, moment.seq)) reduceTimeline(state, event)
  return { seq: state.clock.seq, timeline: rowsSince(state, since) }
}

const EVENTS_PER_PAGE = 2000

async function* eventPages(store: Store, run_id: string, to?: number): AsyncGenerator<Event> {
  for (let after = 0; ; ) {
    const range = { after, limit: EVENTS_PER_PAGE, ...(to === undefined ? undefined : { to }) }
    const events = await store.events(run_id, range)
    yield* events
    after = events.at(-1)?.seq ?? after
    if (events.length < EVENTS_PER_PAGE) return
  }
}

/** Journals above this length are summarised from the events that a summary cannot do without. */
const WHOLE_JOURNAL_EVENTS = 5000

interface LiveFacts {
  isRunning(run: RunRow): boolean
  readWaiting(run_id: string): Promise<WaitingRequest[]>
}

/** Unknown runs, and those of other projects, have no summary. */
export async function readSummaries(
  parts: RuntimeParts,
  run_ids: readonly string[],
  { isRunning, readWaiting }: LiveFacts,
): Promise<RunSummary[]> {
  const { store, project, world } = parts
  const sources = await timelineSources(parts)
  const summaries: RunSummary[] = []
  for (const run_id of new Set(run_ids)) {
    const row = await store.run(run_id)
    if (row?.project !== project) continue
    const state = newTimeline(sources)
    const events =
      row.head > WHOLE_JOURNAL_EVENTS ? await summaryEvents(store, row, sources) : eventPages(store, run_id)
    for await (const event of events) reduceTimeline(state, event)
    // The run may be deleted meanwhile.
    const waiting = row.status === 'running' ? await readWaiting(run_id).catch(() => []) : []
    summaries.push(summaryFrom(state, { head: row.head, now: world.now(), isRunning: isRunning(row), waiting }))
  }
  return summaries
}

async function summaryEvents(
  store: Store,
  { run_id, head }: RunRow,
  { eventTypes }: TimelineSources,
): Promise<Event[]> {
  const types = [...SUMMARY_EVENTS, ...((eventTypes ?? new Set()) as ReadonlySet<EventType>)]
  const events = await store.eventsOfRuns([run_id], types)
  const newest = await store.events(run_id, { after: Math.max(events.at(-1)?.seq ?? 0, head - 100) })
  return [...events, ...newest]
}
