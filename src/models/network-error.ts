/** A connection that could not be established or used, classified by the error code of Node. */
export interface NetworkFailure {
  /** Such as `ECONNREFUSED`; absent if the error has none. */
  code?: string
  /** True when no byte of the request can have reached the provider, so that nothing was billed. */
  unsent: boolean
  /** True when the next attempt would fail in the same way: a certificate, the protocol, the address. */
  permanent: boolean
}

const NETWORK_ERROR_CODE = /^(E[A-Z]{4,}|UND_ERR_\w+|ERR_INVALID_URL)$/
const NEVER_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_INVALID_URL)$/
/** Names of OpenSSL for a certificate that cannot be verified. */
const CERTIFICATE_CODE =
  /^(CERT_\w+|ERR_TLS_CERT\w*|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED)$/
/** A failed handshake. A record that is damaged later is not one: the request may have been read before it. */
const HANDSHAKE_CODE = /^(EPROTO|ERR_TLS_\w+|ERR_SSL_(?!.*(BAD_RECORD|DECRYPT|INTERNAL_ERROR)).+)$/
/** Failures without a code of their own: an address that `fetch` refuses, a server of another protocol. */
const WRONG_ADDRESS = /\b(bad port|unknown scheme)$|does not match the HTTP\/1\.1 protocol/
const CLOSED_IN_HANDSHAKE = /before secure TLS connection was established/

/** The failed connection behind an error; `undefined` if there is none. `fetch failed` carries it several causes deep. */
export function networkFailureFrom(thrown: unknown): NetworkFailure | undefined {
  let current = thrown
  for (let depth = 0; depth < 6 && typeof current === 'object' && current !== null; depth++) {
    const { code, message, cause, errors } = current as Partial<
      Record<'code' | 'message' | 'cause' | 'errors', unknown>
    >
    const failure = failureFrom(typeof code === 'string' ? code : '', typeof message === 'string' ? message : '')
    if (failure) return failure
    current = cause ?? (Array.isArray(errors) ? errors[0] : undefined)
  }
  return undefined
}

function failureFrom(code: string, message: string): NetworkFailure | undefined {
  if (CERTIFICATE_CODE.test(code) || HANDSHAKE_CODE.test(code)) return { code, unsent: true, permanent: true }
  if (NETWORK_ERROR_CODE.test(code)) {
    const unsent = NEVER_CONNECTED.test(code) || CLOSED_IN_HANDSHAKE.test(message)
    return { code, unsent, permanent: code === 'ERR_INVALID_URL' }
  }
  return WRONG_ADDRESS.test(message) ? { unsent: true, permanent: true } : undefined
}

/** The hint for a connection that failed. `base` names the variable of the base URL. */
export function networkHint({ code = '', permanent }: NetworkFailure, base: string | undefined): string {
  const url = base === undefined ? 'the base URL' : `the base URL (${base})`
  if (CERTIFICATE_CODE.test(code))
    return `the certificate of the server is not trusted: set NODE_EXTRA_CA_CERTS to the file of its CA, or check ${url}`
  if (HANDSHAKE_CODE.test(code))
    return `the server does not speak TLS as expected: check https:// and the port of ${url}`
  if (code === 'ECONNREFUSED') return `no server listens at this address: start it, or check ${url}`
  if (code === 'ENOTFOUND') return `no host has this name: check the network and ${url}`
  return permanent ? `no model can be reached at this address: check ${url}` : `check the network and ${url}`
}
