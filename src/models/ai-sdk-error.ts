/** What came out of a provider package, whatever it was. */
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
  /** False when nothing can have reached the provider. */
  sent: boolean
}

/** Fields of the AI SDK's errors, read by name: their classes differ from one installed copy to the next. */
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
  const foreign = (
    typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }
  ) as AiSdkErrorFields
  const body = toText(foreign.responseBody) || toText(foreign.text)
  const network = networkCode(thrown)
  const status = responseStatus(foreign)
  const kind = errorKind(foreign, status, network)
  const local = kind === 'unsupported' || kind === 'unknown-model' || kind === 'no-key' || kind === 'invalid-request'
  return {
    kind,
    message: errorMessage(foreign, kind === 'network' ? network : undefined),
    code: [foreign.code, foreign.type].filter((word) => typeof word === 'string').join(' '),
    body,
    headers: (foreign.responseHeaders ?? {}) as ProviderErrorReport['headers'],
    ...(status === undefined ? undefined : { status }),
    ...(typeof foreign.isRetryable === 'boolean' && status === undefined
      ? { retryable: foreign.isRetryable }
      : undefined),
    sent: !local && !(network !== undefined && NEVER_SENT_CODE.test(network)),
  }
}

/** Some endpoints report an error within a stream by the number that would have been its status. */
function responseStatus({ statusCode, code }: AiSdkErrorFields): number | undefined {
  if (typeof statusCode === 'number') return statusCode
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}

function errorKind(
  foreign: AiSdkErrorFields,
  status: number | undefined,
  network: string | undefined,
): ProviderErrorReport['kind'] {
  const known = typeof foreign.name === 'string' ? KIND_BY_ERROR_NAME[foreign.name] : undefined
  if (known) return known
  if (status !== undefined && status >= 300) return 'error-response'
  // A connection that breaks in the middle comes with the status of its beginning, which was 200.
  if (network !== undefined || isNetworkError(foreign)) return 'network'
  return status === undefined ? 'error-response' : 'invalid-response'
}

function isNetworkError({ name, message }: AiSdkErrorFields): boolean {
  if (name === 'TypeError') return /^(terminated|fetch failed|network error)/i.test(toText(message))
  return name === 'TimeoutError' || /^Cannot connect to API/.test(toText(message))
}

/** `fetch failed` alone helps nobody: the reason stands in the cause of the cause. */
function networkCode(thrown: unknown): string | undefined {
  let current = thrown
  for (let depth = 0; depth < 6 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown }
    if (typeof code === 'string' && NETWORK_ERROR_CODE.test(code)) return code
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return undefined
}

function errorMessage(foreign: AiSdkErrorFields, network: string | undefined): string {
  const message = toText(foreign.message) || 'an error without a message'
  return network === undefined || message.includes(network) ? message : `${message} (${network})`
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
