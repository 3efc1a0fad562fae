import type { ErrorCode, TroupeErrorOptions } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { ModelErrorInfo } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import type { ProviderErrorReport } from './ai-sdk-error.ts'
import { parseProviderError } from './ai-sdk-error.ts'
import { invalidResponseError, isHtmlPage } from './event-stream-guard.ts'
import { similarModels } from './known-models.ts'
import type { ModelErrorContext } from './model-error-context.ts'
import { redactedExcerpt } from './model-error-context.ts'

/** Why a call got no answer at all. */
export function toRequestError(thrown: unknown, site: ModelErrorContext): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const reported = parseProviderError(thrown)
  const error = errorFromReport(reported, site)
  const facts: ModelErrorInfo = {}
  if (reported.status !== undefined && reported.status >= 300) facts.status = reported.status
  else if (!reported.sent) facts.usage = NO_USAGE
  const wait = retryAfterMs(reported.headers, site.now())
  if (wait !== undefined) facts.retry_after_ms = wait
  return Object.assign(error, facts)
}

/** Why an answer that had begun did not come to its end. It carries no status: what it used, nobody said. */
export function toStreamError(thrown: unknown, site: ModelErrorContext): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const reported = parseProviderError(thrown)
  if (reported.kind !== 'network') return errorFromReport(reported, site)
  return new TroupeError(
    'stream_interrupted',
    `the connection to ${site.name} broke: ${redactMessage(reported.message, site)}`,
    {
      hint: 'the part that arrived is kept in the journal; resume the run to ask again',
    },
  )
}

function errorFromReport(reported: ProviderErrorReport, site: ModelErrorContext): TroupeError {
  const { kind, message, body } = reported
  const said = redactMessage(message, site)
  switch (kind) {
    case 'unsupported':
      return createError('model_unsupported', `${site.name} cannot do this: ${said}`, unsupportedHint(site))
    case 'no-key':
      return createError('model_auth', `there is no key for ${site.name}`, keyHint(site))
    case 'unknown-model':
      return unknownModelError(site, said)
    case 'invalid-response':
      return invalidResponseError(site, body || message, isHtmlPage(body))
    case 'network':
      return createError('model_failed', `${site.name} could not be reached: ${said}`, networkHint(site, message))
    case 'invalid-request':
      return createError('model_failed', `the request to ${site.name} could not be made: ${said}`, { retry: false })
    case 'error-response':
      return errorFromResponse(reported, site, said)
  }
}

const HTML_PAGE_STATUS = new Set([400, 404, 405])
const BAD_KEY = /api[ _]?key not valid|API_KEY_INVALID|invalid (x-)?api[ _-]?key|incorrect api key/i
const TOO_LONG =
  /context[ _]?(length|window|size|limit)|prompt is too long|too many (input )?tokens|input token count|maximum (number of )?tokens allowed|exceeds? the (available|model'?s) context|reduce the length/i
const NO_TOOLS =
  /(tool|function)[ _-]?(use|call(ing|s)?|choice)?s?\b.{0,60}(not (supported|enabled|available)|unsupported|requires? --)|(not|n['’]t) support (tools?|function|tool use)|support tool use|unsupported.{0,30}\btools?\b/i
const NO_IMAGES =
  /(not|n['’]t) support (image|vision)|image (input|content).{0,40}not supported|no (vision|image) support/i
const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance/i

/** The provider answered with an error. */
function errorFromResponse(reported: ProviderErrorReport, site: ModelErrorContext, said: string): TroupeError {
  const { status = 0, body } = reported
  const words = `${reported.message}\n${reported.code}\n${body.slice(0, 4000)}`
  const what = `${site.name} answered ${status > 0 ? status : 'with an error'}: ${said}`
  if (HTML_PAGE_STATUS.has(status) && isHtmlPage(body)) return invalidResponseError(site, body, true)
  if (status === 401 || status === 403 || (status === 400 && BAD_KEY.test(words))) {
    return createError('model_auth', what, keyHint(site))
  }
  if (status === 429) return rateLimitError(what, QUOTA.test(words))
  const cannot = (site.tools && NO_TOOLS.test(words)) || (site.images && NO_IMAGES.test(words))
  if (cannot) return createError('model_unsupported', what, unsupportedHint(site))
  if (status === 404) return unknownModelError(site, said, what)
  if (status === 413 || (status < 500 && TOO_LONG.test(words))) {
    return createError('context_too_long', what, {
      hint: 'shorten the conversation, or use a model with a larger window',
    })
  }
  if (status === 402 || QUOTA.test(words)) return createError('model_failed', what, { retry: false, hint: QUOTA_HINT })
  const retry = reported.retryable ?? (status === 408 || status === 409 || status >= 500)
  return createError('model_failed', what, {
    retry,
    hint: retry ? 'this is the provider’s trouble; trying again later helps' : 'the request itself was refused',
  })
}

const QUOTA_HINT = 'the account has no credit left: look at its billing page'

function rateLimitError(what: string, spent: boolean): TroupeError {
  if (spent) return createError('model_rate_limited', what, { retry: false, hint: QUOTA_HINT })
  return createError('model_rate_limited', what, { hint: 'wait, or lower the concurrency' })
}

function unknownModelError(
  site: ModelErrorContext,
  said: string,
  what = `no model ${site.name}: ${said}`,
): TroupeError {
  const alternatives = similarModels(site.name)
  const known = alternatives.length > 0 ? `known here: ${alternatives.slice(0, 4).join(', ')}` : ''
  return createError('unknown_model', what, {
    alternatives,
    hint: ['check the name with the provider', known].filter((part) => part !== '').join('; '),
  })
}

function keyHint({ name, variables }: ModelErrorContext): TroupeErrorOptions {
  return { hint: variables.key ? `set ${variables.key} to a valid key` : `give the provider of ${name} a valid key` }
}

function unsupportedHint({ name, tools, images }: ModelErrorContext): TroupeErrorOptions {
  const asked = [tools ? 'tools' : '', images ? 'images' : ''].filter((part) => part !== '').join(' and ')
  return { hint: `use a model that takes ${asked === '' ? 'this' : asked} instead of ${name}` }
}

function networkHint({ variables }: ModelErrorContext, message: string): TroupeErrorOptions {
  const base = variables.base ? ` (${variables.base})` : ''
  if (/ECONNREFUSED/.test(message))
    return { hint: `nothing listens there: start the server, or check its address${base}` }
  return { hint: `check the network and the base address${base}` }
}

function createError(code: ErrorCode, message: string, detail: TroupeErrorOptions = {}): TroupeError {
  return new TroupeError(code, message, detail)
}

function redactMessage(message: string, { secrets }: ModelErrorContext): string {
  return redactedExcerpt(message, secrets, 500)
}

type Headers = Readonly<Record<string, string | undefined>>

/** How long a provider asks to be left alone: milliseconds, seconds, or a date. */
function retryAfterMs(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(ms)) return Math.max(0, Math.ceil(ms))
  const wait = headers['retry-after']?.trim()
  if (!wait) return undefined
  if (/^\d+(\.\d+)?$/.test(wait)) return Math.ceil(Number(wait) * 1000)
  const at = Date.parse(wait)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
