import type { TroupeErrorOptions } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { ModelErrorInfo } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { ResponseHead } from '../kernel/request-progress.ts'
import type { ProviderErrorReport } from './ai-sdk-error.ts'
import { parseProviderError, statusFromCode } from './ai-sdk-error.ts'
import { invalidResponseError, isHtmlPage } from './event-stream-guard.ts'
import { similarModels } from './known-models.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { redactedExcerpt } from './model-error-context.ts'
import { networkHint } from './network-error.ts'
import { NO_FILES, refusedFeature } from './refused-feature.ts'

/** Converts the error of a request that got no response that its provider package could read. */
export function toRequestError(thrown: unknown, context: ModelErrorContext, head?: ResponseHead): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const report = parseProviderError(thrown)
  // A provider package that cannot read the beginning of a stream throws an error without any sign of the provider.
  if (
    head &&
    head.status < 300 &&
    report.kind === 'error-response' &&
    report.status === undefined &&
    report.code === ''
  )
    report.kind = 'invalid-response'
  const delay = retryAfterMs(report.headers, context.now())
  const error = errorFromReport(report, context, delay)
  const info: ModelErrorInfo = {}
  if (report.status !== undefined && report.status >= 300) info.status = report.status
  else if (!report.sent) info.usage = NO_USAGE
  if (delay !== undefined) info.retry_after_ms = delay
  return Object.assign(error, info)
}

/** Converts the error of a response that broke off. It carries no status, because the usage so far is unknown. */
export function toStreamError(thrown: unknown, context: ModelErrorContext): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const report = parseProviderError(thrown)
  // The server accepted the request and failed later: without a reason, a retry may help.
  if (report.kind !== 'network') return errorFromReport({ ...report, retryable: report.retryable ?? true }, context)
  return new TroupeError(
    'stream_interrupted',
    `the connection to ${context.name} was lost: ${redactMessage(report.message, context)}`,
    { hint: 'the partial response is in the journal; send the request again with `troupe resume RUN`' },
  )
}

function errorFromReport(report: ProviderErrorReport, context: ModelErrorContext, delay?: number): TroupeError {
  const { kind, message, body } = report
  const { name } = context
  const reason = redactMessage(message, context)
  switch (kind) {
    case 'unsupported':
      return new TroupeError(
        'model_unsupported',
        `${name} does not support this request: ${reason}`,
        unsupportedHint(context),
      )
    case 'no-key':
      return new TroupeError('model_auth', `no API key for ${name}`, keyHint(context))
    case 'unknown-model':
      return unknownModelError(context, `no model ${name}: ${reason}`)
    case 'invalid-response':
      return invalidResponseError(context, body || message, isHtmlPage(body))
    case 'network':
      return unreachableError(report, context, reason)
    case 'invalid-request':
      return new TroupeError('model_failed', `cannot build the request to ${name}: ${reason}`, {
        retry: false,
        hint: 'correct the `input` schemas of the tools, or choose another `model`',
      })
    case 'error-response':
      return errorFromResponse(report, context, { reason, delay })
  }
}

const HTML_PAGE_STATUS = new Set([400, 404, 405])
const BAD_KEY = /api[ _]?key not valid|API_KEY_INVALID|invalid (x-)?api[ _-]?key|incorrect api key/i
const TOO_LONG =
  /context[ _]?(length|window|size|limit)|prompt is too long|too many (input )?tokens|input token count|maximum (number of )?tokens allowed|exceeds? the (available|model'?s) context|reduce the length/i
const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance/i

/** Converts an HTTP error response of the provider. */
function errorFromResponse(
  report: ProviderErrorReport,
  context: ModelErrorContext,
  { reason, delay }: { reason: string; delay: number | undefined },
): TroupeError {
  const inferred = report.status === undefined ? statusFromCode(report.code) : undefined
  const { body, status = inferred ?? 0 } = report
  const text = `${report.message}\n${report.code}\n${body.slice(0, 4000)}`
  const message = `${context.name} returned ${report.status ?? (report.code.split(' ')[0] || 'an error')}: ${reason}`
  if (HTML_PAGE_STATUS.has(status) && isHtmlPage(body)) return invalidResponseError(context, body, true)
  if (status === 401 || status === 403 || (status === 400 && BAD_KEY.test(text))) {
    return new TroupeError('model_auth', message, keyHint(context))
  }
  if (status === 429) return rateLimitError(message, QUOTA.test(text), waitHint(delay, context.now()))
  const refused = refusedFeature(text, context)
  if (refused)
    return Object.assign(new TroupeError('model_unsupported', message, unsupportedHint(context)), { refused })
  if (context.files && NO_FILES.test(text)) {
    return new TroupeError('model_unsupported', message, unsupportedHint(context))
  }
  if (status === 404) return unknownModelError(context, message)
  if (status === 413 || (status < 500 && TOO_LONG.test(text))) {
    return new TroupeError('context_too_long', message, {
      hint: 'shorten the conversation, or choose a `model` with a larger context window',
    })
  }
  if (status === 402 || QUOTA.test(text))
    return new TroupeError('model_failed', message, { retry: false, hint: QUOTA_HINT })
  const isTransient = status === 408 || status === 409 || status >= 500
  const retry = status > 0 ? isTransient : (report.retryable ?? false)
  const hint = retry
    ? (waitHint(delay, context.now()) ?? 'the provider failed: try again later, or choose another `model`')
    : 'the provider rejected the request and a retry does not help: choose another `model`'
  return new TroupeError('model_failed', message, { retry, hint })
}

const QUOTA_HINT = "the account has no credit left: check the provider's billing page, or choose another `model`"

function rateLimitError(message: string, isQuotaUsedUp: boolean, wait: string | undefined): TroupeError {
  if (isQuotaUsedUp) return new TroupeError('model_rate_limited', message, { retry: false, hint: QUOTA_HINT })
  return new TroupeError('model_rate_limited', message, { hint: wait ?? 'wait, or lower `limits.concurrency`' })
}

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** `the provider asks to wait 60 min, until 14:32`; `undefined` for a wait that nobody needs to be told. */
function waitHint(delay: number | undefined, now: number): string | undefined {
  if (delay === undefined || delay < MINUTE_MS) return undefined
  const until = new Date(now + delay)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${until.getFullYear()}-${two(until.getMonth() + 1)}-${two(until.getDate())} `
  const time = `${delay < DAY_MS ? '' : day}${two(until.getHours())}:${two(until.getMinutes())}`
  return `the provider asks to wait ${Math.ceil(delay / MINUTE_MS)} min, until ${time}; or choose another \`model\``
}

function unknownModelError({ name }: ModelErrorContext, message: string): TroupeError {
  const alternatives = similarModels(name)
  const known = alternatives.length > 0 ? `; known models: ${alternatives.slice(0, 4).join(', ')}` : ''
  return new TroupeError('unknown_model', message, {
    alternatives,
    hint: `check the model name with the provider${known}`,
  })
}

function keyHint({ name, variables }: ModelErrorContext): TroupeErrorOptions {
  const hint = variables.key
    ? `set ${variables.key} to a valid API key`
    : `give the provider of ${name} a valid API key`
  return { hint }
}

function unsupportedHint({ name, tools, files }: ModelErrorContext): TroupeErrorOptions {
  const features = [tools ? 'tools' : '', files ? 'the attached files' : '']
    .filter((feature) => feature !== '')
    .join(' and ')
  return { hint: `choose a \`model\` that supports ${features === '' ? 'the request' : features} instead of ${name}` }
}

/** A certificate, a protocol or an address that is wrong stays wrong: the request is not sent again. */
function unreachableError({ network }: ProviderErrorReport, context: ModelErrorContext, reason: string): TroupeError {
  const failure = network ?? { unsent: false, permanent: false }
  return new TroupeError('model_failed', `cannot reach ${context.name}: ${reason}`, {
    ...(failure.permanent ? { retry: false } : undefined),
    hint: `${networkHint(failure, context.variables.base)}; or choose another \`model\``,
  })
}

function redactMessage(message: string, { secrets }: ModelErrorContext): string {
  return redactedExcerpt(message, secrets, 500)
}

type Headers = Readonly<Record<string, string | undefined>>

/** The delay of a `retry-after` header in milliseconds; its value is milliseconds, seconds or a date. */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(ms)) return Math.max(0, Math.ceil(ms))
  const value = headers['retry-after']?.trim()
  if (!value) return undefined
  if (/^\d+(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
