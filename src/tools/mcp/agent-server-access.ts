import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { accessDeniedError } from '../tool-errors.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { isHostAllowed, resolveAllowedAddress } from '../web/ssrf-guard.ts'

/*
 * What a server gets that an agent's file brings. Whoever wrote the file is not the operator: of the operator's variables
 * it gets those that were lent, and of the network the public addresses of hosts that were allowed.
 */

export interface AgentServerAccess {
  /** Names of variables that `${NAME}` may stand for. */
  exposeEnv: readonly string[]
  /** Names of hosts, `*.name`, or `*` for any public one. */
  hosts: readonly string[]
  addresses: AddressPolicy
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const OPERATOR_HINT = "put the server into the operator's configuration"

/** Throws unless the host was allowed. Its addresses are judged with every request. */
export function checkServerHost(loan: AgentServerAccess, address: string): void {
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol))
    throw accessDeniedError('its url is no address that begins with https://')
  if (isHostAllowed(loan.hosts, url.hostname)) return
  const allowed = `allowed: ${loan.hosts.join(', ') || 'none'}`
  throw accessDeniedError(
    `an agent brings it, and its host '${url.hostname}' is not allowed`,
    `allow it with --allow-host ${url.hostname}, or ${OPERATOR_HINT}; ${allowed}`,
  )
}

/**
 * Like `fetch`, but connected to the very address that was judged, with every request: a name that resolves to something
 * else a moment later, or leads on to elsewhere, gains nothing.
 */
export function createPinnedFetch(loan: AgentServerAccess): Fetch {
  return async (to, init = {}) => {
    const url = new URL(to)
    checkServerHost(loan, url.href)
    const { address, family } = await resolveServerAddress(loan, url)
    init.signal?.throwIfAborted()
    const secure = url.protocol === 'https:'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const request = (secure ? httpsRequest : httpRequest)({
      host: address,
      family,
      port: portFrom(url),
      path: url.pathname + url.search,
      method: init.method ?? 'GET',
      headers: { ...Object.fromEntries(new Headers(init.headers)), host: url.host },
      ...(secure ? { servername: host } : undefined),
      agent: false,
      ...(init.signal ? { signal: init.signal } : undefined),
    })
    return sendRequest(request, init)
  }
}

const portFrom = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80))

async function resolveServerAddress(loan: AgentServerAccess, url: URL): ReturnType<typeof resolveAllowedAddress> {
  try {
    return await resolveAllowedAddress(loan.addresses, url.hostname, portFrom(url))
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'denied') throw thrown
    throw accessDeniedError(`an agent brings it, and ${thrown.message}`, `use a public address, or ${OPERATOR_HINT}`)
  }
}

function sendRequest(request: ClientRequest, { body, signal }: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    request.once('response', (message) => {
      try {
        resolve(toResponse(message))
      } catch (thrown) {
        message.destroy()
        reject(thrown)
      }
    })
    // As `fetch` has it: what could not be reached is told by a TypeError.
    request.on('error', (cause) =>
      reject(signal?.aborted ? signal.reason : new TypeError(`fetch failed: ${cause.message}`, { cause })),
    )
    if (typeof body === 'string') request.end(body)
    else request.end()
  })
}

const BODYLESS_STATUSES = new Set([204, 205, 304])

function toResponse(message: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText = '' } = message
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  if (BODYLESS_STATUSES.has(status)) {
    message.resume()
    return new Response(null, { status, statusText, headers })
  }
  return new Response(Readable.toWeb(message) as ReadableStream<Uint8Array>, { status, statusText, headers })
}
