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

const NETWORK_ERROR_CODE = /^(E[A-Z]{4,}|UND_ERR_\w+|CERT_\w+|ERR_TLS\w*|DEPTH_ZERO\w*|SELF_SIGNED\w*|UNABLE_TO\w*)$/
const NEVER_SENT_CODE = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+)$/

export function parseProviderError(thrown: unknown): ProviderErrorReport {
  const error = (
    typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }
  ) as AiSdkErrorFields
  const body = toText(error.responseBody) || toText(error.text)
  const network = networkErrorCode(thrown)
  const status = responseStatus(error)
  const kind = errorKind(error, status, network)
  const local = kind === 'unsupported' || kind === 'unknown-model' || kind === 'no-key' || kind === 'invalid-request'
  return {
    kind,
    message: errorMessage(error, kind === 'network' ? network : undefined),
    code: [error.code, error.type].filter((code) => typeof code === 'string').join(' '),
    body,
    headers: (error.responseHeaders ?? {}) as ProviderErrorReport['headers'],
    ...(status === undefined ? undefined : { status }),
    ...(typeof error.isRetryable === 'boolean' && status === undefined ? { retryable: error.isRetryable } : undefined),
    sent: !local && !(network !== undefined && NEVER_SENT_CODE.test(network)),
  }
}

/** Some endpoints report an error inside a stream with the HTTP status in `code`. */
function responseStatus({ statusCode, code }: AiSdkErrorFields): number | undefined {
  if (typeof statusCode === 'number') return statusCode
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}

function errorKind(
  error: AiSdkErrorFields,
  status: number | undefined,
  network: string | undefined,
): ProviderErrorReport['kind'] {
  const known = typeof error.name === 'string' ? KIND_BY_ERROR_NAME[error.name] : undefined
  if (known) return known
  if (status !== undefined && status >= 300) return 'error-response'
  // A connection lost mid-stream still carries the 200 of its response head.
  if (network !== undefined || isNetworkError(error)) return 'network'
  return status === undefined ? 'error-response' : 'invalid-response'
}

function isNetworkError({ name, message }: AiSdkErrorFields): boolean {
  if (name === 'TypeError') return /^(terminated|fetch failed|network error)/i.test(toText(message))
  return name === 'TimeoutError' || /^Cannot connect to API/.test(toText(message))
}

/** The error code of a failed connection: `fetch failed` carries it several causes deep. */
function networkErrorCode(thrown: unknown): string | undefined {
  let current = thrown
  for (let depth = 0; depth < 6 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown }
    if (typeof code === 'string' && NETWORK_ERROR_CODE.test(code)) return code
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return undefined
}

function errorMessage(error: AiSdkErrorFields, network: string | undefined): string {
  const message = toText(error.message) || 'error without a message'
  return network === undefined || message.includes(network) ? message : `${message} (${network})`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
