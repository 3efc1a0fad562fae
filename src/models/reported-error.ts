/** What came out of a provider package, whatever it was. */
export interface Reported {
  kind: 'answer' | 'network' | 'garbage' | 'unsupported' | 'unknown-model' | 'no-key' | 'refused-locally'
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
interface Foreign {
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

const KINDS: Readonly<Record<string, Reported['kind']>> = {
  AI_UnsupportedFunctionalityError: 'unsupported',
  AI_NoSuchModelError: 'unknown-model',
  AI_LoadAPIKeyError: 'no-key',
  AI_JSONParseError: 'garbage',
  AI_TypeValidationError: 'garbage',
  AI_InvalidResponseDataError: 'garbage',
  AI_EmptyResponseBodyError: 'garbage',
  AI_InvalidPromptError: 'refused-locally',
  AI_InvalidArgumentError: 'refused-locally',
}

const NETWORK = /^(E[A-Z]{4,}|UND_ERR_\w+|CERT_\w+|ERR_TLS\w*|DEPTH_ZERO\w*|SELF_SIGNED\w*|UNABLE_TO\w*)$/
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+)$/

export function reportedBy(thrown: unknown): Reported {
  const foreign = (typeof thrown === 'object' && thrown !== null ? thrown : { message: String(thrown) }) as Foreign
  const body = textOf(foreign.responseBody) || textOf(foreign.text)
  const network = networkCode(thrown)
  const status = statusOf(foreign)
  const kind = kindOf(foreign, status, network)
  const local = kind === 'unsupported' || kind === 'unknown-model' || kind === 'no-key' || kind === 'refused-locally'
  return {
    kind,
    message: messageOf(foreign, kind === 'network' ? network : undefined),
    code: [foreign.code, foreign.type].filter((word) => typeof word === 'string').join(' '),
    body,
    headers: (foreign.responseHeaders ?? {}) as Reported['headers'],
    ...(status === undefined ? undefined : { status }),
    ...(typeof foreign.isRetryable === 'boolean' && status === undefined
      ? { retryable: foreign.isRetryable }
      : undefined),
    sent: !local && !(network !== undefined && NEVER_SENT.test(network)),
  }
}

/** Some endpoints report an error within a stream by the number that would have been its status. */
function statusOf({ statusCode, code }: Foreign): number | undefined {
  if (typeof statusCode === 'number') return statusCode
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined
}

function kindOf(foreign: Foreign, status: number | undefined, network: string | undefined): Reported['kind'] {
  const known = typeof foreign.name === 'string' ? KINDS[foreign.name] : undefined
  if (known) return known
  if (status !== undefined && status >= 300) return 'answer'
  // A connection that breaks in the middle comes with the status of its beginning, which was 200.
  if (network !== undefined || isNetworkError(foreign)) return 'network'
  return status === undefined ? 'answer' : 'garbage'
}

function isNetworkError({ name, message }: Foreign): boolean {
  if (name === 'TypeError') return /^(terminated|fetch failed|network error)/i.test(textOf(message))
  return name === 'TimeoutError' || /^Cannot connect to API/.test(textOf(message))
}

/** `fetch failed` alone helps nobody: the reason stands in the cause of the cause. */
function networkCode(thrown: unknown): string | undefined {
  let current = thrown
  for (let depth = 0; depth < 6 && typeof current === 'object' && current !== null; depth++) {
    const { code, cause, errors } = current as { code?: unknown; cause?: unknown; errors?: unknown }
    if (typeof code === 'string' && NETWORK.test(code)) return code
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return undefined
}

function messageOf(foreign: Foreign, network: string | undefined): string {
  const message = textOf(foreign.message) || 'an error without a message'
  return network === undefined || message.includes(network) ? message : `${message} (${network})`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
