import type { NetworkFailure } from './network-error.ts'
import { networkFailureFrom } from './network-error.ts'

/** A normalized error of a provider package. */
export interface ProviderErrorReport {
  kind:
    | 'error-response'
    | 'network'
    | 'invalid-response'
    | 'unsupported'
    | 'unknown-model'
    | 'no-key'
    | 'invalid-request'
  message: string
  code: string
  body: string
  headers: Readonly<Record<string, string | undefined>>
  status?: number
  retryable?: boolean
  /** False when the request cannot have reached the provider, so nothing was billed. */
  sent: boolean
  /** The failed connection, if that is the reason. */
  network?: NetworkFailure
}

/** Fields of AI SDK errors. Read by name: `instanceof` fails when two copies of the package are installed. */
interface AiSdkErrorFields {
  name?: unknown
  message?: unknown
  code?: unknown
  type?: unknown
  statusCode?: unknown
  isRetryable?: unknown
  responseHeaders?: unknown
  responseBody?: unknown
  text?: unknown
  cause?: unknown
}

const KIND_BY_ERROR_NAME: Readonly<Record<string, ProviderErrorReport['kind']>> = {
  AI_UnsupportedFunctionalityError: 'unsupported',
  AI_NoSuchModelError: 'unknown-model',
  AI_LoadAPIKeyError: 'no-key',
  AI_JSONParseError: 'invalid-response',
  AI_TypeValidationError: 'invalid-response',
  AI_InvalidResponseDataError: 'invalid-response',
  AI_EmptyResponseBodyError: 'invalid-response',
  AI_InvalidPromptError: 'invalid-request',
  AI_InvalidArgumentError: 'invalid-request',
}

export function parseProviderError(thrown: unknown): ProviderErrorReport {
  const error = (
    typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }
  ) as AiSdkErrorFields
  const body = toText(error.responseBody) || toText(error.text)
  const network = networkFailureFrom(thrown)
  const status = responseStatus(error)
  const kind = errorKind(error, status, network !== undefined)
  const local = kind === 'unsupported' || kind === 'unknown-model' || kind === 'no-key' || kind === 'invalid-request'
  return {
    kind,
    message: errorMessage(error, kind === 'network' ? network?.code : undefined),
    code: [error.code, error.type].filter((code) => typeof code === 'string').join(' '),
    body,
    headers: (error.responseHeaders ?? {}) as ProviderErrorReport['headers'],
    ...(status === undefined ? undefined : { status }),
    ...(typeof error.isRetryable === 'boolean' && status === undefined ? { retryable: error.isRetryable } : undefined),
    sent: !local && !network?.unsent,
    ...(network ? { network } : undefined),
  }
}

/** Some endpoints report an error inside a stream with the HTTP status in `code`. */
function responseStatus({ statusCode, code }: AiSdkErrorFields): number | undefined {
  if (typeof statusCode === 'number') return statusCode
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}

/** The HTTP status that stands for the error of a stream, whose own status is 200, by the codes and types that providers use. */
export function statusFromCode(codes: string): number | undefined {
  const words = codes.split(' ')
  return STATUS_BY_CODE.find(([code]) => words.some((word) => code.test(word)))?.[1]
}

const STATUS_BY_CODE: readonly (readonly [RegExp, number])[] = [
  [/^(insufficient_quota|rate_?limit\w*|too_?many_?requests\w*|resource_exhausted|throttl\w+|slow_down)$/i, 429],
  [/^(overloaded\w*|\w*_overloaded|engine_overloaded\w*|service_?unavailable\w*|unavailable|capacity_exceeded)$/i, 503],
  [/^(server_error|internal\w*|api_error|upstream_error|bad_?gateway\w*|(\w*_)?timeout\w*|deadline_exceeded)$/i, 500],
  [/^(authentication_error|invalid_api_key|unauthenticated)$/i, 401],
  [/^(permission_error|permission_denied)$/i, 403],
  [/^(invalid_request\w*|bad_?request\w*|invalid_argument)$/i, 400],
]

function errorKind(
  error: AiSdkErrorFields,
  status: number | undefined,
  isNetworkFailure: boolean,
): ProviderErrorReport['kind'] {
  const known = typeof error.name === 'string' ? KIND_BY_ERROR_NAME[error.name] : undefined
  if (known) return known
  if (status !== undefined && status >= 300) return 'error-response'
  // A connection lost mid-stream still carries the 200 of its response head.
  if (isNetworkFailure || isNetworkError(error)) return 'network'
  return status === undefined ? 'error-response' : 'invalid-response'
}

function isNetworkError({ name, message }: AiSdkErrorFields): boolean {
  if (name === 'TypeError') return /^(terminated|fetch failed|network error)/i.test(toText(message))
  return name === 'TimeoutError' || /^Cannot connect to API/.test(toText(message))
}

function errorMessage(error: AiSdkErrorFields, network: string | undefined): string {
  const message = toText(error.message) || 'error without a message'
  return network === undefined || message.includes(network) ? message : `${message} (${network})`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
