import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ErrorCode } from '../../../errors.ts'
import { TroupeError } from '../../../errors.ts'
import type { ErrorBody } from '../contract.ts'

/** Errors whose text may be shown, by status. All others are the operator's business: their text may hold paths of the machine. */
const STATUS: Partial<Record<ErrorCode, ContentfulStatusCode>> = {
  invalid_input: 400,
  unknown_agent: 400,
  unknown_model: 400,
  unknown_pattern: 404,
  session_not_resumable: 400,
  depth_exceeded: 400,
  too_large: 413,
  session_busy: 409,
  run_busy: 409,
  run_ended: 409,
  gate_answered: 409,
  quarantined: 409,
  needs_missing: 409,
  no_model: 409,
  store_not_yours: 409,
  limit_reached: 409,
}

/** Not even the ids that are like the one that was asked for. */
const NOT_FOUND: Partial<Record<ErrorCode, string>> = {
  unknown_run: 'there is no such run',
  unknown_gate: 'there is no such question',
  unknown_session: 'there is no such session',
}

/** The status and body of an error. `isUnexpected` is set if the operator should know about it. */
export function errorResponseFrom(thrown: unknown): {
  status: ContentfulStatusCode
  body: ErrorBody
  isUnexpected: boolean
} {
  if (thrown instanceof HTTPException) {
    const body = isErrorBody(thrown.cause) ? thrown.cause : { error: { code: 'invalid_input', message: 'bad request' } }
    return { status: thrown.status, body, isUnexpected: false }
  }
  if (thrown instanceof TroupeError) {
    const { code, message, hint } = thrown
    const missing = NOT_FOUND[code]
    if (missing !== undefined)
      return { status: 404, body: { error: { code: 'not_found', message: missing } }, isUnexpected: false }
    const status = STATUS[code]
    if (status !== undefined) {
      const error = { code, message: withoutPaths(message), ...(hint ? { hint: withoutPaths(hint) } : undefined) }
      return { status, body: { error }, isUnexpected: false }
    }
    return { status: 503, body: unavailable(code), isUnexpected: true }
  }
  return { status: 500, body: unavailable('internal'), isUnexpected: true }
}

function unavailable(code: string): ErrorBody {
  return {
    error: { code, message: 'the server could not do this', hint: 'its operator sees the reason in its output' },
  }
}

function isErrorBody(value: unknown): value is ErrorBody {
  return typeof value === 'object' && value !== null && 'error' in value
}

/** Absolute paths become their last part. */
export function withoutPaths(text: string): string {
  return text.replace(
    /(?<![\p{L}\p{N}_./])(?:file:\/\/)?(?:[A-Za-z]:)?(?:[/\\][\p{L}\p{M}\p{N}_.@+~-]+){2,}/gu,
    (path) => `…/${path.split(/[/\\]/).at(-1)}`,
  )
}
