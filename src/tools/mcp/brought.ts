import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { refused } from '../complaint.ts'
import type { AddressBook } from '../web/addresses.ts'
import { addressFor, isHostAllowed } from '../web/addresses.ts'

/*
 * What a server gets that an agent's file brings. Whoever wrote the file is not the operator: of the operator's variables
 * it gets those that were lent, and of the network the public addresses of hosts that were allowed.
 */

export interface Loan {
  /** Names of variables that `${NAME}` may stand for. */
  lend: readonly string[]
  /** Names of hosts, `*.name`, or `*` for any public one. */
  hosts: readonly string[]
  addresses: AddressBook
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const OPERATOR = "put the server into the operator's configuration"

/** Throws unless the host was allowed. Its addresses are judged with every request. */
export function checkHost(loan: Loan, address: string): void {
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol)) throw refused('its url is no address that begins with https://')
  if (isHostAllowed(loan.hosts, url.hostname)) return
  const allowed = `allowed: ${loan.hosts.join(', ') || 'none'}`
  throw refused(
    `an agent brings it, and its host '${url.hostname}' is not allowed`,
    `allow it with --allow-host ${url.hostname}, or ${OPERATOR}; ${allowed}`,
  )
}

/**
 * Like `fetch`, but connected to the very address that was judged, with every request: a name that resolves to something
 * else a moment later, or leads on to elsewhere, gains nothing.
 */
export function fetchOf(loan: Loan): Fetch {
  return async (to, init = {}) => {
    const url = new URL(to)
    checkHost(loan, url.href)
    const { address, family } = await judged(loan, url)
    init.signal?.throwIfAborted()
    const secure = url.protocol === 'https:'
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const request = (secure ? httpsRequest : httpRequest)({
      host: address,
      family,
      port: portOf(url),
      path: url.pathname + url.search,
      method: init.method ?? 'GET',
      headers: { ...Object.fromEntries(new Headers(init.headers)), host: url.host },
      ...(secure ? { servername: host } : undefined),
      agent: false,
      ...(init.signal ? { signal: init.signal } : undefined),
    })
    return sent(request, init)
  }
}

const portOf = ({ port, protocol }: URL) => Number(port || (protocol === 'https:' ? 443 : 80))

async function judged(loan: Loan, url: URL): ReturnType<typeof addressFor> {
  try {
    return await addressFor(loan.addresses, url.hostname, portOf(url))
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'denied') throw thrown
    throw refused(`an agent brings it, and ${thrown.message}`, `use a public address, or ${OPERATOR}`)
  }
}

function sent(request: ClientRequest, { body, signal }: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    request.once('response', (message) => {
      try {
        resolve(responseOf(message))
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

const WITHOUT_BODY = new Set([204, 205, 304])

function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 502, statusMessage: statusText = '' } = message
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  if (WITHOUT_BODY.has(status)) {
    message.resume()
    return new Response(null, { status, statusText, headers })
  }
  return new Response(Readable.toWeb(message) as ReadableStream<Uint8Array>, { status, statusText, headers })
}
