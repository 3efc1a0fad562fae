import type { Event } from '../../kernel/event.ts'
import { sha256 } from '../../kernel/hash.ts'
import type { Detail } from '../detail/detail.ts'
import { createDetailCache } from '../detail/detail-cache.ts'
import { detailFrom } from '../detail/detail-from.ts'
import type { DetailOptions } from '../detail/detail-scope.ts'
import type { Panel } from '../panel.ts'
import type { TimelineSources } from '../timeline/reduce-timeline.ts'
import type { Timeline, TimelineRef } from '../timeline/timeline.ts'
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
  details: Omit<DetailOptions, 'earlier' | 'cache'>
  /** The events of a session in earlier runs, which this run resumed. */
  earlier(session_id: string): readonly Event[]
}

export const LONGEST_TEXT = 32_768

export function runExportFrom(sources: RunExportSources): PoolEntry[] {
  const { events, details } = sources
  const cache = createDetailCache(events, sources.timeline, details.redactor)
  const { redact } = cache
  const timeline = cache.model().tables
  const sessionOf = new Map([...timeline.turns, ...timeline.calls].map(({ id, session }) => [id, session]))
  const pool = createValuePool(cutLongText)
  const byPlace = new Map<string, number>()
  for (const ref of placesOf(timeline)) {
    const earlier = sources.earlier(sessionOf.get(ref.id)?.split('#')[0] ?? '')
    const detail = detailFrom(events, ref, { ...details, cache, earlier })
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
