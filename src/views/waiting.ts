import type { ErrorRecord } from '../errors.ts'
import type { Event, EventOf } from '../kernel/event.ts'
import type { RequestProgress } from '../kernel/request-progress.ts'
import { formatDuration } from './format-amount.ts'
import { toTerminalLine } from './text-width.ts'

/*
 * The model requests that the agents of a run wait for: those without an outcome, from `model:begin` and, where the process that sends them can be
 * seen, from its marks of how far they got.
 */

/** A model request without an outcome, or one that failed and is sent again. Times are milliseconds since the epoch. */
export interface WaitingRequest {
  session_id: string
  agent: string
  model: string
  /**
   * `connecting`: nothing was sent yet. `silent`: sent, and not a byte of the response has arrived. `receiving`: bytes arrive. `retrying`: it
   * failed and is sent again at `retry_at`. `elsewhere`: in a process of another machine, whose progress cannot be seen.
   */
  state: 'connecting' | 'silent' | 'receiving' | 'retrying' | 'elsewhere'
  /** The beginning of the attempt, or its failure while it is retried. */
  since: number
  /** From 1. */
  attempt: number
  /** The most attempts, if known. */
  max_attempts: number | null
  last_received_at: number | null
  /** The time at which the request fails if no byte arrives until then. */
  gives_up_at: number | null
  /** The time of the next attempt: the provider may have asked to wait. */
  retry_at: number | null
  /** The failure before a retry. */
  reason: string | null
}

/** The progress of the open requests of a process, by the seq of `model:begin`. */
export interface SeenRequests {
  idle_timeout_ms?: number
  /** `undefined` for a request of which not a byte was sent. */
  progress(seq: number): RequestProgress | undefined
}

interface OpenRequest {
  begin: EventOf<'model:begin'>
  failed?: EventOf<'model:error'>
}

/** Folds the events of a run to its open model requests. */
export class OpenRequests {
  readonly #agents = new Map<string, string>()
  readonly #requests = new Map<string, OpenRequest>()
  /** Facts from the failure before the present attempt. */
  readonly #retries = new Map<string, { attempt?: number; of?: number }>()

  add(event: Event): void {
    switch (event.type) {
      case 'session:open':
        if (event.session_id !== undefined) this.#agents.set(event.session_id, event.data.agent.name)
        return
      case 'model:begin':
        this.#requests.set(event.data.key, { begin: event })
        return
      case 'model:error': {
        const { key, retry } = event.data
        const open = this.#requests.get(key)
        if (retry) this.#retries.set(key, retry)
        if (open && retry) open.failed = event
        else this.#forget(key)
        return
      }
      case 'model:end':
      case 'model:lost':
        this.#forget(event.data.key)
        return
      case 'run:attempt':
      case 'run:end':
        this.#requests.clear()
        this.#retries.clear()
        return
      default:
    }
  }

  #forget(key: string): void {
    this.#requests.delete(key)
    this.#retries.delete(key)
  }

  /** In the order in which they began. Without `seen`, the requests are those of a process on another machine. */
  list(seen: SeenRequests | undefined): WaitingRequest[] {
    return [...this.#requests.values()].map(({ begin, failed }) => {
      const { key, model } = begin.data
      const retry = failed?.data.retry
      const { attempt = 1, of } = this.#retries.get(key) ?? {}
      return {
        session_id: begin.session_id ?? '',
        agent: this.#agents.get(begin.session_id ?? '') ?? '',
        model: retry?.model ?? model,
        attempt,
        max_attempts: of ?? null,
        ...(failed && retry ? retryFacts(failed, retry.delay_ms) : progressFacts(begin, seen)),
      }
    })
  }
}

type StateFacts = Pick<WaitingRequest, 'state' | 'since' | 'last_received_at' | 'gives_up_at' | 'retry_at' | 'reason'>

function retryFacts({ at, data }: EventOf<'model:error'>, delay_ms: number): StateFacts {
  const reason = failureReason(data.error, data.response?.status)
  return { state: 'retrying', since: at, last_received_at: null, gives_up_at: null, retry_at: at + delay_ms, reason }
}

function progressFacts({ seq, at }: EventOf<'model:begin'>, seen: SeenRequests | undefined): StateFacts {
  const { sent_at, last_received_at } = seen?.progress(seq) ?? {}
  const heard_at = last_received_at ?? at
  return {
    state: !seen ? 'elsewhere' : last_received_at !== undefined ? 'receiving' : sent_at ? 'silent' : 'connecting',
    since: at,
    last_received_at: last_received_at ?? null,
    gives_up_at: seen?.idle_timeout_ms === undefined ? null : heard_at + seen.idle_timeout_ms,
    retry_at: null,
    reason: null,
  }
}

/** A request is worth a word after this. */
export const FIRST_NOTICE_MS = 15_000
const MINUTE_MS = 60_000

/** The number of notices about a request that waits this long: after 15 s, 60 s, then each minute. */
export function noticesDue(waited_ms: number): number {
  if (waited_ms < FIRST_NOTICE_MS) return 0
  return waited_ms < MINUTE_MS ? 1 : 1 + Math.floor(waited_ms / MINUTE_MS)
}

/** The time that a request has waited when the next notice is due. */
export function nextNoticeMs(waited_ms: number): number {
  return noticesDue(waited_ms) === 0 ? FIRST_NOTICE_MS : noticesDue(waited_ms) * MINUTE_MS
}

/** `waiting for anthropic/claude-sonnet-5-5 · 42 s, nothing received (gives up after 4m00s)` */
export function waitingText(request: WaitingRequest, now: number): string {
  const { state, since, attempt, max_attempts, last_received_at, gives_up_at, retry_at } = request
  const model = toTerminalLine(request.model)
  const waited = formatSpan(now - since)
  const count = attempt > 1 ? ` · ${attemptText(attempt, max_attempts)}` : ''
  const end = (from: number, what = '') =>
    gives_up_at === null ? '' : ` (gives up after ${formatSpan(gives_up_at - from)}${what})`
  switch (state) {
    case 'elsewhere':
      return `waiting for ${model} · ${waited}${count} (in a process of another machine: no more is known)`
    case 'connecting':
      return `connecting to ${model} · ${waited}${count}${end(since)}`
    case 'silent':
      return `waiting for ${model} · ${waited}${count}, nothing received${end(since)}`
    case 'receiving': {
      const heard_at = last_received_at ?? since
      return `receiving from ${model} · ${waited}${count}, last part ${formatSpan(now - heard_at)} ago${end(heard_at, ' of silence')}`
    }
    case 'retrying':
      return `waiting for ${model} · ${retryText({ reason: request.reason ?? '', attempt, of: max_attempts ?? undefined, delay_ms: Math.max(0, (retry_at ?? now) - now) })}`
  }
}

/** The request that has been waiting longest, once it is worth a word. */
export function longestWaitText(requests: readonly WaitingRequest[], now: number): string | undefined {
  const longest = requests.find(({ since }) => now - since >= FIRST_NOTICE_MS)
  return longest && `${longest.agent}: ${waitingText(longest, now)}`
}

/** The cost of stopping: the request, how long it can still take, and that it may already cost. */
export function stoppingText(requests: readonly WaitingRequest[], now: number): string {
  const open = requests.filter(({ state }) => state !== 'retrying')
  if (open.length === 0) return 'waiting for requests in flight'
  const ends = open.flatMap(({ gives_up_at }) => gives_up_at ?? [])
  const left = ends.length === 0 ? '' : `, for up to ${formatSpan(Math.max(...ends) - now)} if nothing arrives`
  const names = [...new Set(open.map(({ model }) => toTerminalLine(model)))].join(', ')
  return `waiting for requests in flight: ${names}${left}; what was sent may already cost`
}

/** `429 rate limited; attempt 2 of 4 in 2.0 s` */
export function retryText({
  reason,
  attempt,
  of,
  delay_ms,
  model,
}: {
  reason: string
  attempt?: number | undefined
  of?: number | undefined
  delay_ms: number
  /** The fallback, if it takes over. */
  model?: string | undefined
}): string {
  const next = attempt === undefined ? 'sent again' : attemptText(attempt, of ?? null)
  const who = model === undefined ? '' : ` with ${toTerminalLine(model)}`
  return `${reason}; ${next}${who}${delay_ms === 0 ? '' : ` in ${formatDelay(delay_ms)}`}`
}

const STATUS_WORDS: Readonly<Record<number, string>> = { 429: 'rate limited', 503: 'unavailable', 529: 'overloaded' }

/** The reason why an attempt failed, in few words: `429 rate limited`, or the message of an error without a status. */
export function failureReason({ code, message }: Pick<ErrorRecord, 'code' | 'message'>, status?: number): string {
  if (status !== undefined && status >= 300)
    return `${status} ${STATUS_WORDS[status] ?? (status >= 500 ? 'server error' : 'refused')}`
  return code === 'model_rate_limited' ? 'rate limited' : toTerminalLine(message)
}

function attemptText(attempt: number, of: number | null): string {
  return of === null ? `attempt ${attempt}` : `attempt ${attempt} of ${of}`
}

/** `42 s`, `4m00s`. */
function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000)
}

/** `2.0 s`, `4m00s`. */
function formatDelay(ms: number): string {
  return ms < MINUTE_MS ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms)
}
