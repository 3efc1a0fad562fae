import type { Event, EventOf, EventType } from './event.ts'
import { isEvent } from './event.ts'
import { grantedRule } from './grant.ts'
import { isTold } from './pattern-event.ts'
import type { Span } from './spans.ts'
import { covered } from './spans.ts'

/*
 * What a journal remembers of each step, for the execution that follows a crash, a wait or a restart.
 * 1. A key is settled by the last event that gave it an outcome; it is open when it began and has none.
 * 2. `run:reopen` forgets the outcome of the keys it names, of the keys above them, and of sessions that were cut short without
 *    anyone taking note; nothing else.
 * 3. Working time counts from an attempt to its orderly stop, or to its last event if it crashed; waiting counts nothing.
 */

const SETTLES = new Set<EventType>([
  'session:input',
  'session:context',
  'session:compress',
  'session:end',
  'model:end',
  'model:error',
  'limit:hit',
  'tool:post',
  'tool:error',
  'step:end',
  'step:error',
  'gate:answer',
  'artifact:write',
])
const OPENS = new Set<EventType>(['session:open', 'model:begin', 'tool:pre', 'step:begin', 'gate:open'])
/** Ends that came from outside the session. */
const CUT_SHORT = new Set(['budget', 'timeout', 'cancelled'])
const STOPS = new Set<EventType>(['run:park', 'run:interrupt', 'run:end'])

/** A version of an artifact. */
export interface Written {
  name: string
  version: number
  checksum: string
}

type EndedCall = EventOf<'model:error'> | EventOf<'model:end'>

export class Recorded {
  /** Milliseconds of work in earlier attempts. */
  workedMs = 0
  cancelled: EventOf<'run:cancel'> | undefined
  /** What people asked of the run while it was under way, in order. */
  readonly steers: EventOf<'run:steer'>[] = []
  /** The newest version of each artifact of this run. */
  readonly artifactVersions = new Map<string, number>()
  readonly #settled = new Map<string, Event>()
  readonly #opened = new Map<string, Event>()
  readonly #attempts = new Map<string, number>()
  readonly #reopened = new Set<string>()
  readonly #earlier = new Map<string, EndedCall[]>()
  readonly #grants: string[] = []
  readonly #written = new Map<string, Written[]>()
  readonly #rename: (key: string) => string
  readonly #worked: Span[] = []
  readonly #waits = new Map<string, Span>()
  #attemptAt: number | undefined
  #lastAt = 0
  #settledSinceAttempt = false
  #fruitless = 0
  #crashes = 0

  constructor(events: readonly Event[], renamed: Readonly<Record<string, string>> = {}) {
    this.#rename = renaming(renamed)
    for (const event of events) this.add(event)
  }

  get empty(): boolean {
    return this.#settled.size === 0 && this.#opened.size === 0
  }

  /** Attempts in a row, up to the last, that broke off. */
  get crashes(): number {
    return this.#attemptAt === undefined ? 0 : this.#crashes + 1
  }

  /** Attempts in a row, up to the last, that broke off without settling anything new. */
  get fruitlessCrashes(): number {
    if (this.#attemptAt === undefined) return 0
    return this.#settledSinceAttempt ? 1 : this.#fruitless + 1
  }

  add(event: Event): void {
    if (isEvent(event, 'run:attempt')) this.#attempt(event.at)
    else if (isEvent(event, 'run:reopen')) this.#reopen(event.data)
    else if (isEvent(event, 'run:cancel')) this.cancelled = event
    else if (isEvent(event, 'run:steer')) this.steers.push(event)
    else if (STOPS.has(event.type)) this.#stop(event.at)
    else this.#index(event)
    this.#lastAt = event.at
  }

  /** What today's code calls a recorded key. */
  nameOf(key: string): string {
    return this.#rename(key)
  }

  settled(key: string): Event | undefined {
    return this.#settled.get(key)
  }

  opened(key: string): Event | undefined {
    return this.#opened.get(key)
  }

  /** True when the run was taken up again after this key had ended it. */
  reopened(key: string): boolean {
    return this.#reopened.has(key)
  }

  /** True when the run was taken up again after an end. */
  get takenUp(): boolean {
    return this.#reopened.size > 0
  }

  /** Rules that people granted in this run when they were asked for permission. */
  grants(): readonly string[] {
    return this.#grants
  }

  /** How many sub-sessions each session had started. */
  childCounts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const event of this.#opened.values()) {
      if (!isEvent(event, 'session:open') || event.data.segment > 1) continue
      const parent = event.data.parent_session_id ?? ''
      counts.set(parent, (counts.get(parent) ?? 0) + 1)
    }
    return counts
  }

  /** Background sessions that were at work when the last execution broke off. */
  openBackground(): EventOf<'session:open'>[] {
    return [...this.#opened].flatMap(([key, event]) =>
      isEvent(event, 'session:open') && event.data.background && !this.#settled.has(key) ? event : [],
    )
  }

  /** Model calls that had begun when the last execution broke off. */
  openCalls(): EventOf<'model:begin'>[] {
    return [...this.#opened].flatMap(([key, event]) =>
      isEvent(event, 'model:begin') && !this.#settled.has(key) ? event : [],
    )
  }

  /** How a session of this run ended last. */
  endOf(session_id: string): EventOf<'session:end'> | undefined {
    let end: EventOf<'session:end'> | undefined
    for (const event of this.#settled.values()) {
      if (event.session_id === session_id && isEvent(event, 'session:end')) end = event
    }
    return end
  }

  /** Sessions whose segment is open, with the key that holds it. */
  openSessions(): Map<string, string> {
    const open = new Map<string, string>()
    for (const [key, event] of this.#opened) {
      if (isEvent(event, 'session:open') && event.session_id !== undefined && !this.#settled.has(key)) {
        open.set(event.session_id, key)
      }
    }
    return open
  }

  /** Milliseconds of work in earlier attempts since this key was opened, without those it waited for a human. */
  workedSince(key: string): number {
    const opened = this.#opened.get(key)
    if (!opened) return 0
    const waits = [...this.#waits].flatMap(([gate, wait]) => (gate.startsWith(`${key}/`) ? wait : []))
    return this.#worked.reduce((sum, span) => {
      const since = { from: Math.max(span.from, opened.at), to: span.to }
      return sum + Math.max(0, since.to - since.from) - covered(waits, since)
    }, 0)
  }

  /** Calls with this key that ended before the one that counts: failures that are tried again, and what was reopened. */
  earlier(key: string): readonly EndedCall[] {
    return this.#earlier.get(key) ?? []
  }

  /** How often a call with this key began. */
  attempts(key: string): number {
    return this.#attempts.get(key) ?? 0
  }

  /** Acting steps that had begun, that no code has claimed in this execution, and that lie in no finished subtree. */
  unclaimedActions(claimed: ReadonlySet<string>): string[] {
    const unclaimed: string[] = []
    for (const [key, event] of this.#opened) {
      const acts =
        (isEvent(event, 'tool:pre') && event.data.kind === 'act') ||
        (isEvent(event, 'step:begin') && event.data.kind === 'act')
      if (acts && !claimed.has(key) && this.#unseen(key)) unclaimed.push(key)
    }
    return unclaimed
  }

  #index(event: Event): void {
    const key = this.#rename((event.data as { key?: string }).key ?? '')
    if (key === '') return
    if (isEvent(event, 'gate:open')) this.#waits.set(key, { from: event.at, to: Number.POSITIVE_INFINITY })
    if (isEvent(event, 'gate:answer')) this.#waits.set(key, { from: this.#waits.get(key)?.from ?? 0, to: event.at })
    if (OPENS.has(event.type)) {
      this.#opened.set(key, event)
      this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1)
    } else if (isEvent(event, 'model:lost')) {
      this.#opened.delete(key)
    } else if (isEvent(event, 'model:error') && event.data.next) {
      this.#opened.delete(key)
      this.#earlier.set(key, [...this.earlier(key), event])
    } else if (SETTLES.has(event.type) || isTold(event.type)) {
      this.#settled.set(key, event)
      this.#settledSinceAttempt = true
      if (isEvent(event, 'gate:answer')) this.#grant(key, event.data.answer)
      if (isEvent(event, 'artifact:write')) this.#write(key, event.data)
    }
  }

  /** The artifacts that were written under a key, in order. */
  writtenUnder(key: string): readonly Written[] {
    return this.#written.get(key) ?? []
  }

  #write(key: string, { name, version, checksum }: Written): void {
    this.artifactVersions.set(name, version)
    for (const above of ancestors(key)) {
      const written = this.#written.get(above)
      if (written) written.push({ name, version, checksum })
      else this.#written.set(above, [{ name, version, checksum }])
    }
  }

  #grant(key: string, said: unknown): void {
    const gate = this.#opened.get(key)
    const detail = isEvent(gate, 'gate:open')
      ? (gate.data.detail as { permission?: unknown; exact?: unknown })
      : undefined
    const rule = grantedRule(said, detail)
    if (rule !== undefined) this.#grants.push(rule)
  }

  #attempt(at: number): void {
    if (this.#attemptAt !== undefined) {
      this.#work(this.#attemptAt, this.#lastAt)
      this.#fruitless = this.fruitlessCrashes
      this.#crashes += 1
    }
    this.#attemptAt = at
    this.#settledSinceAttempt = false
  }

  #stop(at: number): void {
    if (this.#attemptAt !== undefined) this.#work(this.#attemptAt, at)
    this.#attemptAt = undefined
    this.#fruitless = 0
    this.#crashes = 0
  }

  #work(from: number, to: number): void {
    this.#worked.push({ from, to })
    this.workedMs += Math.max(0, to - from)
  }

  #reopen({ key, also = [], force }: EventOf<'run:reopen'>['data']): void {
    this.#fruitless = 0
    this.#crashes = 0
    for (const step of key === null ? also : [key, ...also]) {
      const renamed = this.#rename(step)
      this.#reopened.add(renamed)
      const ended = this.#settled.get(renamed)
      if (isEvent(ended, 'model:error') || isEvent(ended, 'model:end')) {
        this.#earlier.set(renamed, [...this.earlier(renamed), ended])
      }
      // The failed call begins anew; sessions and patterns above it are entered again. An action whose outcome nobody
      // knows stays as it is: only a person who knows better can have it made again.
      const inDoubt = (ended?.data as { error?: { code?: string } } | undefined)?.error?.code === 'outcome_unknown'
      if ((!inDoubt || force) && this.#settled.delete(renamed)) this.#opened.delete(renamed)
      for (const above of ancestors(renamed)) this.#settled.delete(above)
    }
    // From above: an end that is taken back here has taken no note of those below.
    for (const [settled, event] of [...this.#settled].sort(([a], [b]) => a.length - b.length)) {
      if (isEvent(event, 'session:end') && CUT_SHORT.has(event.data.stop_reason) && this.#unseen(settled)) {
        this.#settled.delete(settled)
      }
    }
  }

  /** True when nothing above has taken note of this outcome. */
  #unseen(key: string): boolean {
    return !ancestors(key).some((above) => this.#settled.has(above))
  }
}

function ancestors(key: string): string[] {
  const above: string[] = []
  for (let end = key.lastIndexOf('/'); end > 0; end = key.lastIndexOf('/', end - 1)) above.push(key.slice(0, end))
  return above
}

/** Keys that newer code calls differently: whole path segments, the longest old name first. */
function renaming(renamed: Readonly<Record<string, string>>): (key: string) => string {
  const pairs = Object.entries(renamed).sort(([a], [b]) => b.length - a.length)
  if (pairs.length === 0) return (key) => key
  return (key) => {
    const found = pairs.find(([old]) => `/${key}/`.includes(`/${old}/`))
    return found ? `/${key}/`.replace(`/${found[0]}/`, `/${found[1]}/`).slice(1, -1) : key
  }
}
