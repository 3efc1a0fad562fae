import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { normalizeHost } from '../../judgement/permission/domain-rule.ts'
import { accessDeniedError, invalidCallError } from '../tool-errors.ts'
import type { AddressPolicy } from './ssrf-guard.ts'
import { isHostAllowed, resolveAllowedAddress } from './ssrf-guard.ts'

export interface FetchLimits {
  bytes: number
  redirects: number
}

export const DEFAULT_FETCH_LIMITS: FetchLimits = { bytes: 5 * 1024 * 1024, redirects: 5 }

export interface FetchedPage {
  url: string
  status: number
  /** Where the page is instead: another host is a request of its own. */
  redirect_url?: string
  /** What a server asks for that has enough for now. */
  retry_after?: string
  /** Empty when the server does not say. */
  media_type: string
  charset: string
  body: Buffer
  /** True when there was more than the limit. */
  truncated: boolean
}

export interface NetworkPolicy {
  /** Names of hosts, `*.name`, or `*` for any public one. */
  hosts: readonly string[]
  addresses: AddressPolicy
  limits?: FetchLimits
}

export interface FetchRequest {
  url: string
  /** May hold keys: they never leave the origin that they were meant for. */
  headers?: Readonly<Record<string, string>>
  /** Sent with POST. */
  body?: string
  /** Another host is told of instead of asked: whether it may be asked is for others to judge. */
  sameHostOnly?: true
}

/**
 * Gets a page from the public internet. Every hop is judged anew: scheme, host, and the address connected to. One to
 * another host is not followed but told.
 */
export function fetchPage(network: NetworkPolicy, start: string, signal: AbortSignal): Promise<FetchedPage> {
  return fetchUrl(network, { url: start, sameHostOnly: true }, signal)
}

/** The same for a request with headers or a body; it is not led on to another origin. */
export async function fetchUrl(
  network: NetworkPolicy,
  request: FetchRequest,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const limits = network.limits ?? DEFAULT_FETCH_LIMITS
  let url = parseUrl(request.url)
  let sent = request
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const response = await sendRequest(network, { ...sent, url }, signal)
    const { statusCode: status = 0 } = response
    const { location } = response.headers
    if (location === undefined || ![301, 302, 303, 307, 308].includes(status))
      return readResponse(url, response, limits, signal)
    response.destroy()
    const next = parseUrl(location, url)
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw accessDeniedError(`${url.href} leads to an unsafe address`)
    if ((request.headers || request.body !== undefined) && next.origin !== url.origin) {
      throw accessDeniedError(`${url.host} leads on to ${next.host}, which this request is not for`)
    }
    if (request.sameHostOnly && normalizeHost(next.hostname) !== normalizeHost(url.hostname)) {
      await resolveEndpoint(network, next)
      return {
        url: url.href,
        status,
        redirect_url: next.href,
        media_type: '',
        charset: 'utf-8',
        body: Buffer.alloc(0),
        truncated: false,
      }
    }
    // As browsers do it: only these two ask for the same again.
    if (status < 307) sent = { url: next.href, ...(request.headers ? { headers: request.headers } : undefined) }
    url = next
  }
  throw invalidCallError(`${request.url} leads on more than ${limits.redirects} times`)
}

function parseUrl(text: string, from?: URL): URL {
  const url = URL.parse(text, from?.href)
  if (!url) throw invalidCallError(`'${text}' is not an address`, 'give one that begins with https://')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw accessDeniedError(`'${url.protocol}' cannot be fetched`, 'only http and https can')
  }
  if (url.username !== '' || url.password !== '')
    throw accessDeniedError('an address may not carry a user name or a password')
  return url
}

interface RedirectHop extends Omit<FetchRequest, 'url'> {
  url: URL
}

interface Endpoint {
  address: string
  family: 4 | 6
  port: number
}

/** Where an address leads, if it may be asked at all. */
async function resolveEndpoint(network: NetworkPolicy, url: URL): Promise<Endpoint> {
  if (!isHostAllowed(network.hosts, url.hostname)) {
    throw accessDeniedError(
      `the host '${url.hostname}' is not allowed`,
      `allowed: ${network.hosts.join(', ') || 'none'}`,
    )
  }
  const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  return { ...(await resolveAllowedAddress(network.addresses, url.hostname, port)), port }
}

async function sendRequest(
  network: NetworkPolicy,
  { url, headers, body }: RedirectHop,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { address, family, port } = await resolveEndpoint(network, url)
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
      {
        // The judged address, with the name for the certificate and the Host header; nothing is looked up again.
        host: address,
        family,
        port,
        path: url.pathname + url.search,
        method: body === undefined ? 'GET' : 'POST',
        ...(url.protocol === 'https:' ? { servername: url.hostname } : undefined),
        headers: {
          host: url.host,
          'user-agent': 'troupe',
          accept: 'text/html, text/*, application/json, */*;q=0.5',
          'accept-encoding': 'gzip, deflate, br',
          ...headers,
        },
        agent: false,
        signal,
      },
      resolve,
    )
    request.once('error', (error) => {
      reject(signal.aborted ? signal.reason : invalidCallError(`${url.href} cannot be reached: ${error.message}`))
    })
    request.end(body)
  })
}

async function readResponse(
  url: URL,
  response: IncomingMessage,
  limits: FetchLimits,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const { 'content-type': type = '', 'retry-after': after } = response.headers
  const chunks: Buffer[] = []
  let size = 0
  let truncated = false
  try {
    for await (const chunk of decompress(response) as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size <= limits.bytes) continue
      truncated = true
      break
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw invalidCallError(`${url.href} broke off: ${(error as Error).message}`)
  } finally {
    response.destroy()
  }
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    ...(after === undefined ? undefined : { retry_after: after }),
    media_type: type.split(';')[0]?.trim().toLowerCase() ?? '',
    charset: /charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8',
    body: Buffer.concat(chunks).subarray(0, limits.bytes),
    truncated,
  }
}

/** Unpacked on the way, so that a small answer that unpacks to a huge one stops at the limit too. */
function decompress(response: IncomingMessage): Readable {
  const how = response.headers['content-encoding']
  const unpack =
    how === 'gzip' || how === 'x-gzip'
      ? createGunzip()
      : how === 'br'
        ? createBrotliDecompress()
        : how === 'deflate'
          ? createInflate()
          : undefined
  if (!unpack) return response
  response.once('error', (error) => unpack.destroy(error))
  return response.pipe(unpack)
}
