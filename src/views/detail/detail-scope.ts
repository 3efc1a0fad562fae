import type { Event, EventOf } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { ToolSpec } from '../../kernel/model.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import type { PriceBook } from '../../kernel/spend.ts'
import type { LoadedView, RunView } from '../run-view.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { DetailCache } from './detail-cache.ts'
import { eventsOfSession } from './event-index.ts'

export interface DetailOptions {
  /** The views of the patterns, from `loadPatternViews(await troupe.patterns())`. */
  views?: readonly LoadedView[]
  prices?: PriceBook
  /** Removes secrets from every text before it is cut. */
  redactor?: Redactor
  /** The events of the session in earlier runs that this run resumed. */
  earlier?: readonly Event[]
  /** Shared by the details of one journal, if many are made. */
  cache?: DetailCache
  /** The tools with these names as a model sees them; the journal has only their names. */
  toolSpecs?(names: readonly string[]): readonly ToolSpec[]
}

/** The journal that details are made from. */
export interface DetailScope {
  events: readonly Event[]
  options: DetailOptions
  cache: DetailCache
  /** The journal, reduced when it is first needed, and its rows. */
  model(): RunView
  timeline(): Timeline
  /** Secrets are found by the names of fields, too: redact a value before its fields become facts. */
  redact<Value>(value: Value): Value
}

/** The newest opening of a session before an event. */
export function openingOf(
  { events }: DetailScope,
  session_id: string | undefined,
  before = Number.POSITIVE_INFINITY,
): EventOf<'session:open'> | undefined {
  if (session_id === undefined) return undefined
  const found = eventsOfSession(events, session_id).findLast(
    (event) => event.seq <= before && isEvent(event, 'session:open'),
  )
  return isEvent(found, 'session:open') ? found : undefined
}

export function agentOf(scope: DetailScope, session_id: string | undefined, before?: number): string | null {
  return openingOf(scope, session_id, before)?.data.agent.name ?? null
}
