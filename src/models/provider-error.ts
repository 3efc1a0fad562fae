import type { ErrorCode, ErrorDetail } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { ModelErrorFacts } from '../kernel/model.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { garbage, isPage } from './answer-kind.ts'
import type { CallSite } from './call-site.ts'
import { firstWords } from './call-site.ts'
import { alternativesTo } from './known-models.ts'
import type { Reported } from './reported-error.ts'
import { reportedBy } from './reported-error.ts'
import { retryAfter } from './retry-after.ts'

/** Why a call got no answer at all. */
export function failedCall(thrown: unknown, site: CallSite): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const reported = reportedBy(thrown)
  const error = errorOf(reported, site)
  const facts: ModelErrorFacts = {}
  if (reported.status !== undefined && reported.status >= 300) facts.status = reported.status
  else if (!reported.sent) facts.usage = NO_USAGE
  const wait = retryAfter(reported.headers, site.now())
  if (wait !== undefined) facts.retry_after_ms = wait
  return Object.assign(error, facts)
}

/** Why an answer that had begun did not come to its end. It carries no status: what it used, nobody said. */
export function brokenStream(thrown: unknown, site: CallSite): TroupeError {
  if (thrown instanceof TroupeError) return thrown
  const reported = reportedBy(thrown)
  if (reported.kind !== 'network') return errorOf(reported, site)
  return new TroupeError('stream_cut', `the connection to ${site.name} broke: ${clean(reported.message, site)}`, {
    hint: 'the part that arrived is kept in the journal; resume the run to ask again',
  })
}

function errorOf(reported: Reported, site: CallSite): TroupeError {
  const { kind, message, body } = reported
  const said = clean(message, site)
  switch (kind) {
    case 'unsupported':
      return make('model_unsupported', `${site.name} cannot do this: ${said}`, unsupportedHint(site))
    case 'no-key':
      return make('model_auth', `there is no key for ${site.name}`, keyHint(site))
    case 'unknown-model':
      return unknownModel(site, said)
    case 'garbage':
      return garbage(site, body || message, isPage(body))
    case 'network':
      return make('model_failed', `${site.name} could not be reached: ${said}`, networkHint(site, message))
    case 'refused-locally':
      return make('model_failed', `the request to ${site.name} could not be made: ${said}`, { retry: false })
    case 'answer':
      return answered(reported, site, said)
  }
}

const PAGE_STATUS = new Set([400, 404, 405])
const BAD_KEY = /api[ _]?key not valid|API_KEY_INVALID|invalid (x-)?api[ _-]?key|incorrect api key/i
const TOO_LONG =
  /context[ _]?(length|window|size|limit)|prompt is too long|too many (input )?tokens|input token count|maximum (number of )?tokens allowed|exceeds? the (available|model'?s) context|reduce the length/i
const NO_TOOLS =
  /(tool|function)[ _-]?(use|call(ing|s)?|choice)?s?\b.{0,60}(not (supported|enabled|available)|unsupported|requires? --)|(not|n['’]t) support (tools?|function|tool use)|support tool use|unsupported.{0,30}\btools?\b/i
const NO_IMAGES =
  /(not|n['’]t) support (image|vision)|image (input|content).{0,40}not supported|no (vision|image) support/i
const QUOTA = /insufficient_quota|exceeded your current quota|billing|credit balance/i

/** The provider answered with an error. */
function answered(reported: Reported, site: CallSite, said: string): TroupeError {
  const { status = 0, body } = reported
  const words = `${reported.message}\n${reported.code}\n${body.slice(0, 4000)}`
  const what = `${site.name} answered ${status > 0 ? status : 'with an error'}: ${said}`
  if (PAGE_STATUS.has(status) && isPage(body)) return garbage(site, body, true)
  if (status === 401 || status === 403 || (status === 400 && BAD_KEY.test(words))) {
    return make('model_auth', what, keyHint(site))
  }
  if (status === 429) return rateLimited(what, QUOTA.test(words))
  const cannot = (site.tools && NO_TOOLS.test(words)) || (site.images && NO_IMAGES.test(words))
  if (cannot) return make('model_unsupported', what, unsupportedHint(site))
  if (status === 404) return unknownModel(site, said, what)
  if (status === 413 || (status < 500 && TOO_LONG.test(words))) {
    return make('context_too_long', what, { hint: 'shorten the conversation, or use a model with a larger window' })
  }
  if (status === 402 || QUOTA.test(words)) return make('model_failed', what, { retry: false, hint: QUOTA_HINT })
  const retry = reported.retryable ?? (status === 408 || status === 409 || status >= 500)
  return make('model_failed', what, {
    retry,
    hint: retry ? 'this is the provider’s trouble; trying again later helps' : 'the request itself was refused',
  })
}

const QUOTA_HINT = 'the account has no credit left: look at its billing page'

function rateLimited(what: string, spent: boolean): TroupeError {
  if (spent) return make('model_rate_limited', what, { retry: false, hint: QUOTA_HINT })
  return make('model_rate_limited', what, { hint: 'wait, or lower the concurrency' })
}

function unknownModel(site: CallSite, said: string, what = `no model ${site.name}: ${said}`): TroupeError {
  const alternatives = alternativesTo(site.name)
  const known = alternatives.length > 0 ? `known here: ${alternatives.slice(0, 4).join(', ')}` : ''
  return make('unknown_model', what, {
    alternatives,
    hint: ['check the name with the provider', known].filter((part) => part !== '').join('; '),
  })
}

function keyHint({ name, variables }: CallSite): ErrorDetail {
  return { hint: variables.key ? `set ${variables.key} to a valid key` : `give the provider of ${name} a valid key` }
}

function unsupportedHint({ name, tools, images }: CallSite): ErrorDetail {
  const asked = [tools ? 'tools' : '', images ? 'images' : ''].filter((part) => part !== '').join(' and ')
  return { hint: `use a model that takes ${asked === '' ? 'this' : asked} instead of ${name}` }
}

function networkHint({ variables }: CallSite, message: string): ErrorDetail {
  const base = variables.base ? ` (${variables.base})` : ''
  if (/ECONNREFUSED/.test(message))
    return { hint: `nothing listens there: start the server, or check its address${base}` }
  return { hint: `check the network and the base address${base}` }
}

function make(code: ErrorCode, message: string, detail: ErrorDetail = {}): TroupeError {
  return new TroupeError(code, message, detail)
}

function clean(message: string, { secrets }: CallSite): string {
  return firstWords(message, secrets, 500)
}
