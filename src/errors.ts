/** The party that can fix an error: the author of the program, the model, or the operator of the machine. */
export type ResponsibleParty = 'developer' | 'model' | 'operator'

/** The closed list of error codes, each with the responsible party and whether a retry can help. */
export const ERROR_CODES = {
  invalid_input: ['developer', false],
  unknown_agent: ['developer', false],
  unknown_session: ['developer', false],
  unknown_run: ['developer', false],
  unknown_gate: ['developer', false],
  unknown_pattern: ['developer', false],
  unknown_tool: ['model', false],
  unknown_model: ['operator', false],
  unknown_performer: ['operator', false],
  no_model: ['operator', false],
  invalid_agent_file: ['developer', false],
  invalid_team_file: ['developer', false],
  invalid_script: ['developer', false],
  script_miss: ['developer', false],
  invalid_event: ['developer', false],
  invalid_output: ['developer', false],
  duplicate_step: ['developer', false],
  step_drift: ['developer', false],
  unclaimed_action: ['developer', false],
  depth_exceeded: ['developer', false],
  cycle_refused: ['developer', false],
  limit_reached: ['operator', true],
  session_busy: ['developer', true],
  session_not_resumable: ['developer', false],
  run_busy: ['operator', true],
  run_ended: ['operator', false],
  closed: ['developer', false],
  lease_lost: ['operator', true],
  needs_missing: ['operator', false],
  gate_answered: ['operator', false],
  denied: ['model', false],
  invalid_tool_input: ['model', true],
  hook_failed: ['developer', true],
  tool_failed: ['developer', true],
  tool_timeout: ['developer', true],
  outcome_unknown: ['operator', false],
  performer_failed: ['operator', true],
  quorum_missing: ['operator', true],
  model_failed: ['operator', true],
  model_auth: ['operator', false],
  model_rate_limited: ['operator', true],
  model_unsupported: ['developer', false],
  context_too_long: ['model', false],
  invalid_prices: ['operator', false],
  cassette_miss: ['developer', false],
  invalid_cassette: ['operator', false],
  model_invalid_response: ['model', true],
  model_refused: ['model', false],
  stream_interrupted: ['operator', true],
  timeout: ['operator', true],
  cancelled: ['operator', false],
  quarantined: ['developer', true],
  too_large: ['developer', false],
  store_full: ['operator', true],
  store_read_only: ['operator', true],
  store_not_yours: ['operator', false],
  store_corrupt: ['operator', false],
  store_newer: ['operator', false],
  store_older: ['operator', false],
  store_network: ['operator', false],
  store_failed: ['operator', true],
  internal: ['developer', false],
} as const satisfies Record<string, readonly [ResponsibleParty, boolean]>

export type ErrorCode = keyof typeof ERROR_CODES

/** An error as stored in journals and printed with `--json`. */
export interface ErrorRecord {
  code: ErrorCode
  message: string
  responsible: ResponsibleParty
  retry: boolean
  hint: string
  alternatives: string[]
  /** Key of the failed step, which `resume` reopens. */
  step?: string
}

export interface TroupeErrorOptions {
  hint?: string
  alternatives?: string[]
  retry?: boolean
  responsible?: ResponsibleParty
  step?: string | undefined
  failures?: readonly ErrorRecord[]
  run_id?: string
  result?: unknown
  /** Further lines of an uncaught error. */
  notes?: readonly string[]
  /** The function whose callers the stack trace begins with. */
  caller?: (...args: never[]) => unknown
  cause?: unknown
}

/**
 * The error class of the runtime. `hint` says what to do next, `alternatives` lists valid choices. An uncaught error prints message and hint:
 * its fields are not enumerable, because Node prints those that are.
 */
export class TroupeError extends Error {
  override readonly name = 'TroupeError'
  readonly code: ErrorCode
  readonly responsible: ResponsibleParty
  readonly retry: boolean
  readonly hint: string
  readonly alternatives: string[]
  step: string | undefined
  /** Further errors of a pattern that failed at several steps. Not part of the record. */
  readonly failures: readonly ErrorRecord[]
  /** The run that failed or was left, for errors of `troupe.run`. Not part of the record. */
  run_id: string | undefined
  /** The result of that run (`RunError`). Not part of the record. */
  readonly result: unknown

  constructor(code: ErrorCode, message: string, options: TroupeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const [responsible, retry] = ERROR_CODES[code]
    this.code = code
    this.responsible = options.responsible ?? responsible
    this.retry = options.retry ?? retry
    this.hint = options.hint ?? ''
    this.alternatives = options.alternatives ?? []
    this.step = options.step
    this.failures = options.failures ?? []
    this.run_id = options.run_id
    this.result = options.result
    if (options.caller) Error.captureStackTrace(this, options.caller)
    const lines = [...(this.hint === '' ? [] : [`hint: ${this.hint}`]), ...(options.notes ?? [])]
    const frames = /\n {4}at [\s\S]*/.exec(this.stack ?? '')?.[0] ?? ''
    const stack = [`TroupeError [${code}]: ${message}`, ...lines.map((line) => `  ${line}`)].join('\n') + frames
    Object.defineProperty(this, 'stack', { value: stack, writable: true, configurable: true })
    for (const field of Object.keys(this)) Object.defineProperty(this, field, { enumerable: false })
  }

  toJSON(): ErrorRecord {
    return {
      code: this.code,
      message: this.message,
      responsible: this.responsible,
      retry: this.retry,
      hint: this.hint,
      alternatives: this.alternatives,
      ...(this.step === undefined ? {} : { step: this.step }),
    }
  }
}

/** The error of a call that came after `close`. */
export function closedError(name: string): TroupeError {
  return new TroupeError('closed', `\`${name}\` was called after \`close\``, {
    hint: 'create another troupe with `createTroupe`, and close it after the last call',
  })
}

export function errorFromRecord(
  record: ErrorRecord,
  failures: readonly ErrorRecord[] = [],
  run: Pick<TroupeErrorOptions, 'run_id' | 'result' | 'notes' | 'caller'> = {},
): TroupeError {
  // The fields of an error are not enumerable.
  const fields = record instanceof TroupeError ? record.toJSON() : record
  return new TroupeError(record.code, record.message, { ...fields, failures, ...run })
}

/** Wraps any thrown value. An error of another class keeps its message and becomes the `cause`. */
export function toTroupeError(thrown: unknown, code: ErrorCode = 'internal'): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new TroupeError(code, message || 'unknown error without a message', { cause: thrown })
}

const MAX_LISTED_NAMES = 8
/** Hints about ids: "did you mean" on a similar id would lead people to act on the wrong run, gate or session. */
const ID_HINTS: Partial<Record<ErrorCode, string>> = {
  unknown_run: 'list the runs with `troupe runs`',
  unknown_gate: 'list the open questions with `troupe inbox`',
  unknown_session: 'give the full `session_id`, or name an `agent` to start a new session',
}

/** "no agent 'architct'; known: architect, reviewer": lists the known names, nearest first. */
export function unknownNameError(
  code: ErrorCode,
  { kind, name, known, hint }: { kind: string; name: string; known: readonly string[]; hint?: string | undefined },
): TroupeError {
  const alternatives = nearestNames(name, known)
  const more = alternatives.length > MAX_LISTED_NAMES ? ` and ${alternatives.length - MAX_LISTED_NAMES} more` : ''
  const list = alternatives.length > 0 ? `known: ${alternatives.slice(0, MAX_LISTED_NAMES).join(', ')}${more}` : ''
  return new TroupeError(code, `no ${kind} '${name}'; ${list === '' ? `no ${kind} is known` : list}`, {
    alternatives,
    hint: hint ?? ID_HINTS[code] ?? (didYouMean(name, known) || `use the name of a known ${kind}`),
  })
}

/** A hint with the nearest known name, or an empty string if none is similar. */
export function didYouMean(name: string, known: readonly string[]): string {
  const [first] = nearestNames(name, known)
  const maxDistance = Math.max(1, Math.floor(name.length / 3))
  if (first === undefined || editDistance(name.toLowerCase(), first.toLowerCase()) > maxDistance) return ''
  return `did you mean '${first}'?`
}

/** The known names, nearest first. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  const wanted = name.toLowerCase()
  return known
    .map((candidate, order) => ({ candidate, order, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance || a.order - b.order)
    .map(({ candidate }) => candidate)
}

/** Damerau-Levenshtein distance: a transposition counts once. Substrings count as near. */
function editDistance(a: string, b: string): number {
  if (b.includes(a) || a.includes(b)) return Math.abs(a.length - b.length) / 4
  let [before, previous]: number[][] = [[], Array.from({ length: b.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitute = (previous?.[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swap = swapped ? (before?.[column - 2] ?? 0) + 1 : substitute
      current.push(Math.min(substitute, swap, (previous?.[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    ;[before, previous] = [previous, current]
  }
  return previous?.[b.length] ?? 0
}

/** For what a bundle lacks: files beside the code, and packages that bring programs. */
export const UNBUNDLED_HINT =
  "leave troupe out of the bundle (esbuild: --external:troupe; Next.js: serverExternalPackages: ['troupe'], with `output: 'standalone'` also outputFileTracingIncludes: { '/*': ['./node_modules/troupe/dist/**'] })"
