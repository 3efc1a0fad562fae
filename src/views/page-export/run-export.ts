import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { sha256 } from '../../kernel/hash.ts'
import type { Panel } from '../../kernel/panel.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import { redactJson } from '../../kernel/redactor.ts'
import type { Detail } from '../detail/detail.ts'
import { detailFrom } from '../detail/detail-from.ts'
import type { DetailOptions } from '../detail/detail-scope.ts'
import { timelineFrom } from '../timeline/reduce-timeline.ts'
import type { Timeline, TimelineRef } from '../timeline/timeline.ts'
import type { TimelineSources } from '../timeline/timeline-state.ts'
import type { PoolEntry } from './value-pool.ts'
import { createValuePool } from './value-pool.ts'

/*
 * Everything that the page of a run shows, as one value for a file.
 * 1. Secrets are removed from every text before it is cut.
 * 2. A text of more than 32 KB is cut; its end says how long it was and has the hash of the whole.
 */

/** The content of a one-file export, after `valueFromPool`. */
export interface RunExport {
  format: 1
  run_id: string
  exported_at: number
  /** The last event. */
  seq: number
  timeline: Timeline
  panels: Panel[]
  events: Event[]
  artifacts: ExportArtifact[]
  /** By place, such as `call:KEY`. */
  details: Record<string, Detail>
}

/** An artifact with its content, or the first part of it. */
export interface ExportArtifact {
  name: string
  version: number
  media_type: string
  size: number
  at: number
  by: string
  key: string
  checksum: string
  run_id: string
  text: string
}

export interface RunExportSources {
  events: readonly Event[]
  exported_at: number
  panels: readonly Panel[]
  artifacts: readonly ExportArtifact[]
  timeline: TimelineSources
  details: Omit<DetailOptions, 'earlier' | 'timeline'>
  /** The events of a session in earlier runs, which this run resumed. */
  earlier(session_id: string): readonly Event[]
}

export const LONGEST_TEXT = 32_768

export function runExportFrom(sources: RunExportSources): PoolEntry[] {
  const { events, details } = sources
  const redactor = details.redactor && cachedRedactor(details.redactor)
  const redact = <Value>(value: Value) => (redactor ? (redactJson(redactor, value) as Value) : value)
  const timeline = timelineFrom(events, sources.timeline)
  const pool = createValuePool(cutLongText)
  const options = { ...details, timeline, ...(redactor ? { redactor } : undefined) }
  const byPlace = new Map<string, number>()
  const slices = new EventSlices(events)
  for (const ref of placesOf(timeline)) {
    const own = slices.of(timeline, ref)
    const detail = detailFrom(own.events, ref, { ...options, earlier: sources.earlier(own.session_id ?? '') })
    if (detail) byPlace.set(`${ref.kind}:${ref.id}`, pool.add(detail))
  }
  pool.addRecord({
    format: pool.add(1),
    run_id: pool.add(events[0]?.run_id ?? ''),
    exported_at: pool.add(sources.exported_at),
    seq: pool.add(events.at(-1)?.seq ?? 0),
    timeline: pool.add(redact(timeline)),
    panels: pool.add(redact(sources.panels)),
    events: pool.add(events.map((event) => redact(event))),
    artifacts: pool.add(redact(sources.artifacts)),
    details: pool.addRecord(Object.fromEntries(byPlace)),
  })
  return [...pool.entries]
}

/** The first part of a long text, with the length and the hash of the whole. */
function cutLongText(text: string): string {
  if (text.length <= LONGEST_TEXT) return text
  const start = text.slice(0, LONGEST_TEXT).toWellFormed()
  return `${start}\n[cut: ${LONGEST_TEXT} of ${text.length} characters are in this export; sha256 ${sha256(text)}]`
}

/** Every place of a timeline that can be selected. */
export function placesOf(timeline: Timeline): TimelineRef[] {
  const places = (kind: TimelineRef['kind'], ids: Iterable<string>) => [...new Set(ids)].map((id) => ({ kind, id }))
  const links = (kind: string) => timeline.links.filter((link) => link.kind === kind)
  return [
    ...places(
      'agent',
      timeline.lanes.map(({ id }) => id),
    ),
    ...places(
      'session',
      timeline.sessions.map(({ id }) => id),
    ),
    ...places(
      'turn',
      timeline.turns.map(({ id }) => id),
    ),
    ...places(
      'call',
      timeline.calls.map(({ id }) => id),
    ),
    ...places(
      'gate',
      timeline.gates.map(({ id }) => id),
    ),
    ...places(
      'message',
      timeline.messages.map(({ id }) => id),
    ),
    ...places(
      'delegation',
      links('delegation').flatMap(({ call }) => call ?? []),
    ),
    ...places(
      'handoff',
      links('handoff').map(({ id }) => id),
    ),
    ...places(
      'vote',
      timeline.sessions.flatMap(({ id, vote }) => (vote ? id : [])),
    ),
  ]
}

/** Journals with more events are not searched as a whole for every call. */
const SMALL_JOURNAL = 2_000

/** The events that the detail of a turn or a call is made from: those of its session and those of no session. */
class EventSlices {
  readonly #events: readonly Event[]
  readonly #bySession = new Map<string | undefined, Event[]>()
  readonly #general: readonly Event[]
  #last: { session_id: string; events: readonly Event[] } | undefined

  constructor(events: readonly Event[]) {
    this.#events = events
    this.#bySession = Map.groupBy(events, ({ session_id }) => session_id)
    this.#general = events.filter((event) => event.session_id === undefined || isEvent(event, 'gate:answer'))
  }

  of(timeline: Timeline, ref: TimelineRef): { events: readonly Event[]; session_id: string | undefined } {
    const session_id = this.#sessionOf(timeline, ref)
    if (session_id === undefined || this.#events.length <= SMALL_JOURNAL) return { events: this.#events, session_id }
    if (this.#last?.session_id !== session_id) {
      const own = [...this.#general, ...(this.#bySession.get(session_id) ?? [])]
      this.#last = { session_id, events: [...new Set(own)].sort((one, other) => one.seq - other.seq) }
    }
    return { events: this.#last.events, session_id }
  }

  #rows: Map<string, string> | undefined

  #sessionOf(timeline: Timeline, { kind, id }: TimelineRef): string | undefined {
    if (kind !== 'turn' && kind !== 'call') return undefined
    this.#rows ??= new Map([
      ...timeline.turns.map((row) => [`turn:${row.id}`, row.session] as const),
      ...timeline.calls.map((row) => [`call:${row.id}`, row.session] as const),
    ])
    return this.#rows.get(`${kind}:${id}`)?.split('#')[0]
  }
}

/** The prompts of a session repeat their messages: each text is searched for secrets once. */
function cachedRedactor(redactor: Redactor): Redactor {
  const known = new Map<string, string>()
  return {
    redact: (text, field) => {
      const key = `${field}\n${text}`
      const before = known.get(key)
      if (before !== undefined) return before
      const after = redactor.redact(text, field)
      known.set(key, after)
      return after
    },
  }
}
