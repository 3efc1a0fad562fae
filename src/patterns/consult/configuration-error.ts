import type { ErrorCode, ErrorRecord } from '../../errors.ts'
import { errorFromRecord } from '../../errors.ts'

/** Errors that a person has to correct first: another specialist would fail, too, and a gate would hide the cause. */
const CONFIGURATION_CODES: ReadonlySet<ErrorCode> = new Set([
  ...(['no_model', 'unknown_model', 'model_auth', 'model_unsupported', 'unknown_performer'] as const),
  ...([
    'invalid_script',
    'script_miss',
    'invalid_cassette',
    'cassette_miss',
    'invalid_prices',
    'needs_missing',
  ] as const),
])

export function isConfigurationError({ code }: { code: ErrorCode }): boolean {
  return CONFIGURATION_CODES.has(code)
}

/** Throws the error of a session that failed because of the configuration or a limit of the run: resume retries it. */
export function requireUsableSession({ error }: { error: ErrorRecord | null }): void {
  if (error && (isConfigurationError(error) || error.code === 'limit_reached')) throw errorFromRecord(error)
}
