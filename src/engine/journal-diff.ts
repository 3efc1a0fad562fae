import type { Event, EventOf, EventType } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import { canonicalJson } from '../kernel/hash.ts'

/*
 * A journal without what differs from one execution of the same work to the next: when, by whom, in which order branches
 * came, in how many attempts, and ids that derive from the run. Two executions that did the same have the same one.
 */

/** A fact of a run, apart from when and how often it was tried. */
export interface CanonicalEvent {
  /** Empty for facts about the whole run. */
  key: string
  type: EventType
  /** The key that opened the session it belongs to; the id itself for a session of another run. */
  session: string | null
  data: unknown
}

/** A fact and where it stands in its own journal. */
export interface CanonicalEntry {
  seq: number
  event: CanonicalEvent
}

/** The facts of a journal, sorted by key, without seq, time, epoch and the bookkeeping of attempts. */
export function canonicalJournal(events: readonly Event[]): CanonicalEvent[] {
  return canonicalEvents(events)
    .sort((a, b) => compareKeys(a.event.key, b.event.key) || a.seq - b.seq)
    .map(({ event }) => event)
}

/** The same in the order of the journal, each with its place. */
export function canonicalEvents(events: readonly Event[]): CanonicalEntry[] {
  const renamed = createIdNormalizer(events)
  const attempts = new Map<string, number>()
  return effectiveEvents(events).map((event) => {
    const attempt = isEvent(event, 'model:begin') ? (attempts.get(event.data.key) ?? 0) + 1 : undefined
    if (isEvent(event, 'model:begin') && attempt !== undefined) attempts.set(event.data.key, attempt)
    const fields = { ...(event.data as Record<string, unknown>) }
    const key = stepKey(event)
    if (event.type.startsWith('model:')) fields.attempt = attempts.get(key) ?? 1
    const data = JSON.parse(renamed(JSON.stringify(omitVolatileFields(event.type, fields))))
    const session = event.session_id === undefined ? null : renamed(event.session_id)
    return { seq: event.seq, event: { key, type: event.type, session, data } }
  })
}

export function stepKey(event: Event): string {
  return (event.data as { key?: string | null }).key ?? ''
}

/** Never part of what happened. */
const BOOKKEEPING = new Set<EventType>(['run:attempt', 'run:park', 'run:interrupt', 'run:reopen', 'model:lost'])
/** Outcomes that a resumed run may have taken back: the last one is what happened. */
const SUPERSEDABLE = new Set<EventType>(['run:end', 'session:end', 'tool:post', 'tool:error', 'limit:hit'])

function effectiveEvents(events: readonly Event[]): Event[] {
  const answered = new Set<string>()
  const settled = new Map<string, number>()
  for (const event of events) {
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) answered.add(attemptId(event.data))
    if (SUPERSEDABLE.has(event.type) || isEvent(event, 'model:end')) settled.set(stepKey(event), event.seq)
  }
  const drifted = new Set<string>()
  return events.filter((event) => {
    if (BOOKKEEPING.has(event.type)) return false
    if (isEvent(event, 'model:begin')) return answered.has(attemptId(event.data))
    if (isEvent(event, 'session:context')) return event.data.message !== null
    if (SUPERSEDABLE.has(event.type)) return settled.get(stepKey(event)) === event.seq
    if (!isEvent(event, 'step:drift')) return true
    if (drifted.has(event.data.key)) return false
    drifted.add(event.data.key)
    return true
  })
}

function attemptId({ key, attempt }: { key: string; attempt: number }): string {
  return `${key}\n${attempt}`
}

/** Hashes of what stands elsewhere in the journal, and keys for outside systems: they follow the ids of the run. */
const DERIVED_FIELDS = new Set(['key', 'input_hash', 'idempotency_key', 'checksum', 'cache_key', 'forked_from'])

function omitVolatileFields(type: EventType, fields: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !DERIVED_FIELDS.has(name)))
  if (type === 'session:open' && kept.base) kept.base = { run_id: (kept.base as { run_id: string }).run_id }
  if (type === 'model:error' && kept.retry) kept.retry = { model: (kept.retry as { model: string }).model }
  if (type === 'step:drift') return {}
  if (type === 'run:steer') kept.command = 0
  return kept
}

const ID_PATTERN = '[0-9a-f]{16}-[0-9a-f]{16}_[A-Za-z0-9-]+|\\b(?:g|pg)_[0-9a-f]{16}\\b'

/** Replaces ids that derive from the run by the keys they were made from. Safe within JSON. */
function createIdNormalizer(events: readonly Event[]): (text: string) => string {
  const names = new Map<string, string>()
  const name = (id: string, words: string): void => {
    if (!names.has(id)) names.set(id, JSON.stringify(words).slice(1, -1))
  }
  for (const event of events) {
    const key = stepKey(event)
    if (isEvent(event, 'session:open')) addSessionName(event, name)
    if (isEvent(event, 'gate:open')) name(event.data.gate_id, `gate(${key})`)
    const group = (event as EventOf<'tool:pre'>).data.parallel_group_id
    if (group) name(group, `group(${key.slice(0, key.lastIndexOf('/tool/'))})`)
  }
  const run_id = events[0]?.run_id ?? ''
  if (run_id !== '') names.set(run_id, 'run')
  const pattern = new RegExp(
    run_id === '' ? ID_PATTERN : `${ID_PATTERN}|${run_id.replace(/\W/g, '\\$&')}(?![A-Za-z0-9])`,
    'g',
  )
  return (text) => text.replace(pattern, (id) => names.get(id) ?? id)
}

function addSessionName(event: EventOf<'session:open'>, name: (id: string, words: string) => void): void {
  const { key, segment, base } = event.data
  if (segment === 1) name(event.session_id ?? '', `session(${key})`)
  // In a fork it is another session; it stands for the one it goes on with.
  if (base?.session_id !== undefined) name(event.session_id ?? '', base.session_id)
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** A fact that two journals tell differently, or that only one of them tells. */
export interface JournalDifference {
  key: string
  type: EventType
  /** Where it stands in each journal; `null` where it does not. */
  seq: [number | null, number | null]
  /** What differs, as paths into the fact with both values; empty when one side lacks it. */
  fields: FieldDifference[]
}

export interface FieldDifference {
  path: string
  before: unknown
  after: unknown
}

/** All differences, in the order of the first journal; what only the second one tells follows in its order. */
export function diffJournals(before: readonly CanonicalEntry[], after: readonly CanonicalEntry[]): JournalDifference[] {
  const [a, b] = [indexEntries(before), indexEntries(after)]
  const differences: JournalDifference[] = []
  for (const [place, { seq, event }] of a) {
    const other = b.get(place)
    const fields = other ? fieldDifferences(comparableFields(event), comparableFields(other.event)) : []
    if (other && fields.length === 0) continue
    differences.push({ key: event.key, type: event.type, seq: [seq, other?.seq ?? null], fields })
  }
  for (const [place, { seq, event }] of b) {
    if (!a.has(place)) differences.push({ key: event.key, type: event.type, seq: [null, seq], fields: [] })
  }
  return differences
}

function comparableFields({ session, data }: CanonicalEvent): unknown {
  return { session, data }
}

/** The n-th fact of a type under a key is compared with the n-th of the other journal. */
function indexEntries(events: readonly CanonicalEntry[]): Map<string, CanonicalEntry> {
  const counts = new Map<string, number>()
  return new Map(
    events.map((placed) => {
      const name = `${placed.event.key}\n${placed.event.type}`
      const n = (counts.get(name) ?? 0) + 1
      counts.set(name, n)
      return [`${name}\n${n}`, placed]
    }),
  )
}

/** Where two values differ, outermost first; a list that grew or shrank is named as a whole. */
export function fieldDifferences(before: unknown, after: unknown, path = ''): FieldDifference[] {
  if (canonicalJson(before) === canonicalJson(after)) return []
  const [a, b] = [asRecord(before), asRecord(after)]
  const sameShape = a && b && Array.isArray(before) === Array.isArray(after)
  if (!sameShape || (Array.isArray(before) && before.length !== (after as unknown[]).length)) {
    return [{ path, before, after }]
  }
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((name) =>
    fieldDifferences(a[name], b[name], path === '' ? name : `${path}.${name}`),
  )
}

function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
}
