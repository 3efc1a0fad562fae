import type { ArtifactVersion } from '../artifact.ts'
import type { Event, EventOf, EventType, SessionEnd } from '../event.ts'
import { eventRole, isEvent } from '../event.ts'
import { CutCounts, cutNames } from './cut.ts'
import type { RecordedSteps } from './dependent-steps.ts'
import { isKept } from './dependent-steps.ts'
import { PermissionAnswers } from './permission-grant.ts'
import { ancestorKeys, keyRenamer } from './step-key.ts'
import type { TimeSpan } from './time-span.ts'
import { coveredMs } from './time-span.ts'

/*
 * The recorded state of each step, for an execution that follows a crash, a park or a restart.
 * 1. A key is settled by the last event that gave it an outcome; it is open when it began and has none.
 * 2. `run:reopen` removes the outcome of the keys it names, of the keys above them up to a background session, and of sessions that were interrupted
 *    without their caller having recorded it; nothing else.
 * 3. `run:cut` removes the steps it names, and all below them, as if they had never begun. What people decided there stays.
 * 4. Active time counts from an attempt to its orderly stop, or to its last event if it crashed; waiting does not count.
 */

/** Stop reasons of sessions that were ended from outside. */
export const INTERRUPTED_REASONS: ReadonlySet<string> = new Set(['budget', 'timeout', 'cancelled'])
const STOP_TYPES = new Set<EventType>(['run:park', 'run:interrupt', 'run:end'])

type EndedModelCall = EventOf<'model:error'> | EventOf<'model:end'>

export class JournalIndex {
  /** Active milliseconds of earlier attempts. */
  activeMs = 0
  cancelled: EventOf<'run:cancel'> | undefined
  /** Steering commands in journal order. */
  readonly steeringCommands: EventOf<'run:steer'>[] = []
  /** The newest version of each artifact of this run. */
  readonly artifactVersions = new Map<string, number>()
  readonly #outcomes = new Map<string, Event>()
  readonly #openings = new Map<string, Event>()
  readonly #attemptCounts = new Map<string, number>()
  readonly #reopened = new Set<string>()
  readonly #cutCounts = new CutCounts()
  /** The end of the first step that was reopened since the last cut: what began before does not depend on it. */
  failedAt: number | undefined
  /** When the run was reopened first since the last cut; and whether a model was asked since then, as in the journal of an older version. */
  #reopenedAt = 0
  #isOldRetry = false
  readonly #earlierAttempts = new Map<string, EndedModelCall[]>()
  readonly #failureCounts = new Map<string, number>()
  readonly #answers = new PermissionAnswers()
  /** Background sessions whose results were collected. */
  readonly #collected = new Set<string>()
  readonly #artifacts = new Map<string, ArtifactVersion[]>()
  readonly #rename: (key: string) => string
  readonly #activeSpans: TimeSpan[] = []
  /** Times in which no process executed the run, after a crash or an interruption. */
  readonly #downtimeSpans: TimeSpan[] = []
  readonly #gateWaits = new Map<string, TimeSpan>()
  #attemptAt: number | undefined
  #interruptedAt: number | undefined
  #lastAt = 0
  #progressedSinceAttempt = false
  #crashesWithoutProgress = 0
  #crashes = 0

  constructor(events: readonly Event[], renamed: Readonly<Record<string, string>> = {}) {
    this.#rename = keyRenamer(renamed)
    for (const event of events) this.add(event)
  }

  get isEmpty(): boolean {
    return this.#outcomes.size === 0 && this.#openings.size === 0
  }

  /** Consecutive attempts, up to the last, that crashed. */
  get crashes(): number {
    return this.#attemptAt === undefined ? 0 : this.#crashes + 1
  }

  /** Consecutive attempts, up to the last, that crashed without settling a new step. */
  get crashesWithoutProgress(): number {
    if (this.#attemptAt === undefined) return 0
    return this.#progressedSinceAttempt ? 0 : this.#crashesWithoutProgress + 1
  }

  add(event: Event): void {
    if (isEvent(event, 'run:attempt')) this.#beginAttempt(event.at)
    else if (isEvent(event, 'run:clock')) this.#skipTime(event.at, event.data.jump_ms)
    else if (isEvent(event, 'run:reopen')) this.#reopen(event)
    else if (isEvent(event, 'run:cut')) this.#cut(event.data.keys)
    else if (isEvent(event, 'run:cancel')) this.cancelled = event
    else if (isEvent(event, 'run:steer')) this.steeringCommands.push(event)
    else if (STOP_TYPES.has(event.type)) this.#endAttempt(event)
    else this.#index(event)
    this.#lastAt = event.at
  }

  /** The key that the current code uses for a recorded key (`renamedKeys`). */
  currentKey(key: string): string {
    return this.#rename(key)
  }

  outcome(key: string): Event | undefined {
    return this.#outcomes.get(key)
  }

  opening(key: string): Event | undefined {
    return this.#openings.get(key)
  }

  /** The recorded events of the steps under a key, in journal order. */
  eventsUnder(key: string): Event[] {
    const below = (events: ReadonlyMap<string, Event>) =>
      [...events].flatMap(([step, event]) => (step.startsWith(`${key}/`) ? event : []))
    return [...below(this.#openings), ...below(this.#outcomes)].sort((a, b) => a.seq - b.seq)
  }

  /** True when `run:reopen` named this key. */
  wasReopened(key: string): boolean {
    return this.#reopened.has(key)
  }

  get isReopened(): boolean {
    return this.#reopened.size > 0
  }

  /** Reopened, and the steps that depend on the retried ones are not cut yet. */
  get isCutDue(): boolean {
    return this.failedAt !== undefined
  }

  /** The part of the ids of a step that names it: another one after each cut. */
  identity(key: string): string {
    return this.#cutCounts.identity(key)
  }

  get recorded(): RecordedSteps {
    return { openings: this.#openings, outcomes: this.#outcomes }
  }

  /** Between these, an older version recorded what it has worked out anew under other keys. */
  get oldRetry(): { failedAt: number; reopenedAt: number } | undefined {
    const failedAt = this.failedAt
    return this.#isOldRetry && failedAt !== undefined ? { failedAt, reopenedAt: this.#reopenedAt } : undefined
  }

  /** Permission rules that people granted in this run. */
  grantedRules(): readonly string[] {
    return this.#answers.grants
  }

  /** The answers of people who denied a call in this run, by the fingerprint of the call. */
  deniedCalls(): ReadonlyMap<string, unknown> {
    return this.#answers.denials
  }

  /** Number of sub-sessions, by parent session. */
  subSessionCounts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const event of this.#openings.values()) {
      if (!isEvent(event, 'session:open') || event.data.segment > 1) continue
      const parent = event.data.parent_session_id ?? ''
      counts.set(parent, (counts.get(parent) ?? 0) + 1)
    }
    return counts
  }

  /** Background sessions that were running when the last execution stopped. */
  openBackgroundSessions(): EventOf<'session:open'>[] {
    return [...this.#openings].flatMap(([key, event]) =>
      isEvent(event, 'session:open') && event.data.background && !this.#outcomes.has(key) ? event : [],
    )
  }

  /** Model requests that had begun when the last execution stopped. */
  openModelCalls(): EventOf<'model:begin'>[] {
    return [...this.#openings].flatMap(([key, event]) =>
      isEvent(event, 'model:begin') && !this.#outcomes.has(key) ? event : [],
    )
  }

  /** The last end of a session of this run. */
  sessionEnd(session_id: string): EventOf<'session:end'> | undefined {
    let end: EventOf<'session:end'> | undefined
    for (const event of this.#outcomes.values()) {
      if (event.session_id === session_id && isEvent(event, 'session:end')) end = event
    }
    return end
  }

  /** Sessions with an open segment, and the key that opened it. */
  openSessions(): Map<string, string> {
    const open = new Map<string, string>()
    for (const [key, event] of this.#openings) {
      if (isEvent(event, 'session:open') && event.session_id !== undefined && !this.#outcomes.has(key)) {
        open.set(event.session_id, key)
      }
    }
    return open
  }

  /** Active milliseconds of earlier attempts since this key was opened, and with `downtime` those between them, without the time its gates were open. */
  activeMsSince(key: string, { downtime = false }: { downtime?: boolean | undefined } = {}): number {
    const opened = this.#openings.get(key)
    if (!opened) return 0
    const waits = [...this.#gateWaits].flatMap(([gate, wait]) => (gate.startsWith(`${key}/`) ? wait : []))
    return [...this.#activeSpans, ...(downtime ? this.#downtimeSpans : [])].reduce((sum, span) => {
      const since = { from: Math.max(span.from, opened.at), to: span.to }
      return sum + Math.max(0, since.to - since.from) - coveredMs(waits, since)
    }, 0)
  }

  /** Ended requests with this key that a later attempt replaces: retried failures, and outcomes that were reopened. */
  earlierAttempts(key: string): readonly EndedModelCall[] {
    return this.#earlierAttempts.get(key) ?? []
  }

  /** Failures of the request with this key that were retried since the run was resumed for it; a refused feature and a lost request are none. */
  failureCount(key: string): number {
    return this.#failureCounts.get(key) ?? 0
  }

  /** Number of requests that began with this key. */
  attemptCount(key: string): number {
    return this.#attemptCounts.get(key) ?? 0
  }

  /** Actions that had begun, outside settled subtrees, and that this execution has not claimed. */
  unclaimedActions(claimed: ReadonlySet<string>): string[] {
    const unclaimed: string[] = []
    for (const [key, event] of this.#openings) {
      const acts =
        (isEvent(event, 'tool:pre') && event.data.kind === 'act') ||
        (isEvent(event, 'step:begin') && event.data.kind === 'act')
      if (acts && !claimed.has(key) && this.#isUnobserved(key) && !isKept(this.recorded, key)) unclaimed.push(key)
    }
    return unclaimed
  }

  #index(event: Event): void {
    const key = this.#rename((event.data as { key?: string }).key ?? '')
    if (key === '') return
    if (isEvent(event, 'gate:open')) this.#gateWaits.set(key, { from: event.at, to: Number.POSITIVE_INFINITY })
    if (isEvent(event, 'gate:answer'))
      this.#gateWaits.set(key, { from: this.#gateWaits.get(key)?.from ?? 0, to: event.at })
    for (const id of (event.data as { collected?: string[] }).collected ?? []) this.#collected.add(id)
    const role = eventRole(event.type)
    if (this.isCutDue && isEvent(event, 'model:begin')) this.#isOldRetry = true
    if (role === 'opens') {
      this.#openings.set(key, event)
      this.#attemptCounts.set(key, (this.#attemptCounts.get(key) ?? 0) + 1)
    } else if (isEvent(event, 'model:lost')) {
      this.#openings.delete(key)
    } else if (isEvent(event, 'model:error') && event.data.retry) {
      this.#openings.delete(key)
      this.#earlierAttempts.set(key, [...this.earlierAttempts(key), event])
      if (!event.data.refused) this.#failureCounts.set(key, this.failureCount(key) + 1)
    } else if (role === 'settles') {
      this.#outcomes.set(key, event)
      this.#progressedSinceAttempt = true
      if (isEvent(event, 'gate:answer')) this.#answers.add(this.#openings.get(key), event)
      if (isEvent(event, 'artifact:write')) this.#indexArtifact(key, event.data)
    }
  }

  /** Artifact versions written under a key, oldest first. */
  artifactsUnder(key: string): readonly ArtifactVersion[] {
    return this.#artifacts.get(key) ?? []
  }

  #indexArtifact(key: string, { name, version, checksum }: ArtifactVersion): void {
    // Versions of artifacts that were cut stay in the store.
    this.artifactVersions.set(name, Math.max(version, this.artifactVersions.get(name) ?? 0))
    for (const above of ancestorKeys(key)) {
      const written = this.#artifacts.get(above)
      if (written) written.push({ name, version, checksum })
      else this.#artifacts.set(above, [{ name, version, checksum }])
    }
  }

  #beginAttempt(time: number): void {
    if (this.#attemptAt !== undefined) {
      this.#addActiveSpan(this.#attemptAt, this.#lastAt)
      this.#crashesWithoutProgress = this.crashesWithoutProgress
      this.#crashes += 1
    }
    const stoppedAt = this.#attemptAt === undefined ? this.#interruptedAt : this.#lastAt
    if (stoppedAt !== undefined) this.#downtimeSpans.push({ from: stoppedAt, to: time })
    this.#attemptAt = time
    this.#interruptedAt = undefined
    this.#progressedSinceAttempt = false
  }

  /** The time before `time` was no working time. */
  #skipTime(time: number, ms: number): void {
    if (this.#attemptAt === undefined) return
    this.#addActiveSpan(this.#attemptAt, Math.max(this.#attemptAt, time - ms))
    this.#attemptAt = time
  }

  #endAttempt({ type, at }: Event): void {
    if (this.#attemptAt !== undefined) this.#addActiveSpan(this.#attemptAt, at)
    this.#attemptAt = undefined
    // A run that waits for a person, or has ended, is not late.
    this.#interruptedAt = type === 'run:interrupt' ? at : undefined
    this.#crashesWithoutProgress = 0
    this.#crashes = 0
  }

  #addActiveSpan(from: number, to: number): void {
    this.#activeSpans.push({ from, to })
    this.activeMs += Math.max(0, to - from)
  }

  #reopen({ seq, data: { key, additional_keys = [], force, cut = [] } }: EventOf<'run:reopen'>): void {
    if (!this.isCutDue) this.#reopenedAt = seq
    this.#forget(cut)
    this.#crashesWithoutProgress = 0
    this.#crashes = 0
    const steps = (key === null ? additional_keys : [key, ...additional_keys]).map(this.#rename)
    for (const renamed of steps) {
      this.#reopened.add(renamed)
      this.#failureCounts.delete(renamed)
      const ended = this.#outcomes.get(renamed)
      const [failedAt] = [renamed, ...ancestorKeys(renamed)].flatMap((each) => this.#outcomes.get(each)?.seq ?? [])
      if (failedAt !== undefined) this.#noteFailure(failedAt)
      if (isEvent(ended, 'model:error') || isEvent(ended, 'model:end')) {
        this.#earlierAttempts.set(renamed, [...this.earlierAttempts(renamed), ended])
      }
      // The failed step starts over, and sessions and patterns above it are re-entered. An action with an unknown outcome
      // stays settled, unless a person who knows better forces it.
      const inDoubt = (ended?.data as { error?: { code?: string } } | undefined)?.error?.code === 'outcome_unknown'
      if ((!inDoubt || force) && this.#outcomes.delete(renamed)) this.#openings.delete(renamed)
      for (const above of this.#callersOf(renamed)) this.#outcomes.delete(above)
    }
    // Outermost first: removing an outer end here makes the ends below it unseen, too.
    for (const [settled, event] of [...this.#outcomes].sort(([a], [b]) => a.length - b.length)) {
      if (!isEvent(event, 'session:end') || !wasInterrupted(event.data) || !this.#isUnobserved(settled)) continue
      this.#noteFailure(event.seq)
      this.#outcomes.delete(settled)
    }
  }

  #noteFailure(seq: number): void {
    this.failedAt = Math.min(seq, this.failedAt ?? seq)
  }

  #cut(keys: readonly string[]): void {
    this.failedAt = undefined
    this.#isOldRetry = false
    this.#forget(keys)
  }

  /** Forgets steps, with all below them. */
  #forget(keys: readonly string[]): void {
    if (keys.length === 0) return
    const cut = new Set(keys.map(this.#rename))
    this.#cutCounts.add([...cut])
    const states = [
      ...[this.#outcomes, this.#openings, this.#attemptCounts, this.#earlierAttempts],
      ...[this.#failureCounts, this.#gateWaits],
    ]
    for (const state of states)
      for (const step of state.keys()) if (cutNames(step).some((key) => cut.has(key))) state.delete(step)
    this.#artifacts.clear()
    for (const [step, event] of this.#outcomes)
      if (isEvent(event, 'artifact:write')) this.#indexArtifact(step, event.data)
  }

  /** The sessions and patterns above a step, up to a background session: the call that started it has its result. */
  #callersOf(key: string): string[] {
    const above = ancestorKeys(key)
    const end = above.findIndex((each) => this.#isBackground(each))
    return end === -1 ? above : above.slice(0, end + 1)
  }

  #isBackground(key: string): boolean {
    const opening = this.#openings.get(key)
    return isEvent(opening, 'session:open') && opening.data.background === true
  }

  /**
   * True when no ancestor is settled, so that no caller has used this outcome. That of a background session is used by whoever collects it; nobody
   * will once the session that started it is settled.
   */
  #isUnobserved(key: string): boolean {
    const above = this.#callersOf(key)
    if (!this.#isBackground(key)) return !above.some((each) => this.#outcomes.has(each))
    if (this.#collected.has(this.#openings.get(key)?.session_id ?? '')) return false
    const starter = above.findIndex((each) => isEvent(this.#openings.get(each), 'session:open'))
    return starter === -1 || !above.slice(starter).some((each) => this.#outcomes.has(each))
  }
}

/** Its own time limit is no interruption: its caller has that result, and `run:reopen` names it if the run failed with it. */
function wasInterrupted({ key, stop_reason, error }: SessionEnd): boolean {
  return INTERRUPTED_REASONS.has(stop_reason) && !(stop_reason === 'timeout' && error?.step === key)
}
