import type { Event, EventOf, EventType } from '../kernel/event.ts'
import { isEvent, isKernelEventType } from '../kernel/event.ts'
import { canonicalJson } from '../kernel/hash.ts'

/*
 * The canonical journal leaves out everything that differs between two executions of the same work: times, owners, the
 * order of parallel branches, the number of attempts, and ids derived from the run. Equal work gives equal journals.
 */

/** An event without time, position and attempts. */
export interface CanonicalEvent {
  /** The step key; empty for events about the whole run. */
  key: string
  type: EventType
  /** The key that opened the session; the session id itself for a session of another run. */
  session: string | null
  data: unknown
}

export interface CanonicalEntry {
  seq: number
  event: CanonicalEvent
}

/** The canonical events of a journal, sorted by step key. */
export function canonicalJournal(events: readonly Event[]): CanonicalEvent[] {
  return canonicalEvents(events)
    .sort((a, b) => compareKeys(a.event.key, b.event.key) || a.seq - b.seq)
    .map(({ event }) => event)
}

/** The canonical events in journal order, each with its `seq`. */
export function canonicalEvents(events: readonly Event[]): CanonicalEntry[] {
  const normalizeIds = createIdNormalizer(events)
  const attempts = new Map<string, number>()
  return effectiveEvents(events).map((event) => {
    const attempt = isEvent(event, 'model:begin') ? (attempts.get(event.data.key) ?? 0) + 1 : undefined
    if (isEvent(event, 'model:begin') && attempt !== undefined) attempts.set(event.data.key, attempt)
    const fields = { ...(event.data as Record<string, unknown>) }
    const key = stepKey(event)
    if (event.type.startsWith('model:')) fields.attempt = attempts.get(key) ?? 1
    const data = JSON.parse(normalizeIds(JSON.stringify(omitVolatileFields(event.type, fields))))
    const session = event.session_id === undefined ? null : normalizeIds(event.session_id)
    return { seq: event.seq, event: { key, type: event.type, session, data } }
  })
}

export function stepKey(event: Event): string {
  return (event.data as { key?: string | null }).key ?? ''
}

/** Events about attempts, not about the work. */
const BOOKKEEPING = new Set<EventType>([
  'run:attempt',
  'run:park',
  'run:interrupt',
  'run:clock',
  'run:reopen',
  'run:cut',
  'model:lost',
  'tool:progress',
])
const REPLACED_OUTCOMES = new Set<EventType>([
  'run:end',
  'session:end',
  'session:input',
  'tool:post',
  'tool:error',
  'limit:hit',
])

/** Outcomes, and events of patterns, that a resumed run may have replaced: only the last one counts. */
function isSupersedable({ type }: Event): boolean {
  return REPLACED_OUTCOMES.has(type) || !isKernelEventType(type)
}

function effectiveEvents(events: readonly Event[]): Event[] {
  const answered = new Set<string>()
  const settled = new Map<string, number>()
  for (const event of events) {
    if (isEvent(event, 'model:end') || isEvent(event, 'model:error')) answered.add(attemptId(event.data))
    if (isSupersedable(event) || isEvent(event, 'model:end')) settled.set(stepKey(event), event.seq)
  }
  const drifted = new Set<string>()
  return events.filter((event) => {
    if (BOOKKEEPING.has(event.type)) return false
    if (isEvent(event, 'model:begin')) return answered.has(attemptId(event.data))
    if (isEvent(event, 'session:context')) return event.data.message !== null
    if (isSupersedable(event)) return settled.get(stepKey(event)) === event.seq
    if (!isEvent(event, 'step:drift')) return true
    if (drifted.has(event.data.key)) return false
    drifted.add(event.data.key)
    return true
  })
}

function attemptId({ key, attempt }: { key: string; attempt: number }): string {
  return `${key}\n${attempt}`
}

/** Hashes and idempotency keys, which change with the ids of the run, and what resume retries, which is no work. */
const DERIVED_FIELDS = new Set([
  'retry_keys',
  'key',
  'input_hash',
  'idempotency_key',
  'checksum',
  'cache_key',
  'forked_from',
])

function omitVolatileFields(type: EventType, fields: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !DERIVED_FIELDS.has(name)))
  if (type === 'session:open' && kept.base) kept.base = { run_id: (kept.base as { run_id: string }).run_id }
  if (type === 'model:error' && kept.retry) kept.retry = { model: (kept.retry as { model: string }).model }
  if (type === 'model:end' || type === 'model:error') delete kept.response
  if (type === 'step:drift') return {}
  if (type === 'run:steer') kept.command = 0
  // About the host, not about the work.
  if (type === 'run:start') for (const name of ['needs', 'protected_paths']) delete kept[name]
  if (type === 'session:open') for (const name of ['environment', 'keep']) delete kept[name]
  return kept
}

const ID_PATTERN = '[0-9a-f]{16}-[0-9a-f]{16}_[A-Za-z0-9-]+|\\b(?:g|pg)_[0-9a-f]{16}\\b'

/** Returns a function that replaces ids derived from the run by the step keys they derive from. It is safe on JSON text. */
function createIdNormalizer(events: readonly Event[]): (text: string) => string {
  const names = new Map<string, string>()
  const addName = (id: string, name: string): void => {
    if (!names.has(id)) names.set(id, JSON.stringify(name).slice(1, -1))
  }
  for (const event of events) {
    const key = stepKey(event)
    if (isEvent(event, 'session:open')) addSessionName(event, addName)
    if (isEvent(event, 'gate:open')) addName(event.data.gate_id, `gate(${key})`)
    const group = (event as EventOf<'tool:pre'>).data.parallel_group_id
    if (group) addName(group, `group(${key.slice(0, key.lastIndexOf('/tool/'))})`)
  }
  const run_id = events[0]?.run_id ?? ''
  if (run_id !== '') names.set(run_id, 'run')
  const pattern = new RegExp(
    run_id === '' ? ID_PATTERN : `${ID_PATTERN}|${run_id.replace(/\W/g, '\\$&')}(?![A-Za-z0-9])`,
    'g',
  )
  return (text) => text.replace(pattern, (id) => names.get(id) ?? id)
}

function addSessionName(event: EventOf<'session:open'>, addName: (id: string, name: string) => void): void {
  const { key, segment, base } = event.data
  if (segment === 1) addName(event.session_id ?? '', `session(${key})`)
  // A fork continues a session of another run under a new id: compare it by the id it continues.
  if (base?.session_id !== undefined) addName(event.session_id ?? '', base.session_id)
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** An event that differs between two journals, or that only one of them has. */
export interface JournalDifference {
  key: string
  type: EventType
  /** Its seq in each journal; `null` where it is missing. */
  seq: [number | null, number | null]
  /** The fields that differ; empty if one journal lacks the event. */
  fields: FieldDifference[]
}

export interface FieldDifference {
  path: string
  before: unknown
  after: unknown
}

/** All differences in the order of the first journal, then the events that only the second one has. */
export function diffJournals(before: readonly CanonicalEntry[], after: readonly CanonicalEntry[]): JournalDifference[] {
  const [a, b] = [indexEntries(before), indexEntries(after)]
  const differences: JournalDifference[] = []
  for (const [position, { seq, event }] of a) {
    const other = b.get(position)
    const fields = other ? fieldDifferences(comparableFields(event), comparableFields(other.event)) : []
    if (other && fields.length === 0) continue
    differences.push({ key: event.key, type: event.type, seq: [seq, other?.seq ?? null], fields })
  }
  for (const [position, { seq, event }] of b) {
    if (!a.has(position)) differences.push({ key: event.key, type: event.type, seq: [null, seq], fields: [] })
  }
  return differences
}

function comparableFields({ session, data }: CanonicalEvent): unknown {
  return { session, data }
}

/** Indexes events so that the n-th of a type under a key is compared with the n-th in the other journal. */
function indexEntries(entries: readonly CanonicalEntry[]): Map<string, CanonicalEntry> {
  const counts = new Map<string, number>()
  return new Map(
    entries.map((entry) => {
      const name = `${entry.event.key}\n${entry.event.type}`
      const n = (counts.get(name) ?? 0) + 1
      counts.set(name, n)
      return [`${name}\n${n}`, entry]
    }),
  )
}

/** The paths at which two values differ; lists of different length are reported as a whole. */
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
