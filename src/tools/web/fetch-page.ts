import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { normalizeHost } from '../../judgement/permission/domain-rule.ts'
import { accessDeniedError, invalidCallError } from '../tool-errors.ts'
import { sendPinned } from './pinned-request.ts'
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
  /** Set for a redirect to another host, which is not followed: it needs a call of its own. */
  redirect_url?: string
  /** The `Retry-After` header. */
  retry_after?: string
  /** Empty without a `Content-Type` header. */
  media_type: string
  charset: string
  body: Buffer
  /** True when the body exceeded the limit. */
  truncated: boolean
}

export interface NetworkPolicy {
  /** Host names, `*.name` for subdomains, or `*` for any public host. */
  hosts: readonly string[]
  addresses: AddressPolicy
  limits?: FetchLimits
}

export interface FetchRequest {
  url: string
  /** May contain credentials: they are never sent to another origin. */
  headers?: Readonly<Record<string, string>>
  /** Sent with POST. */
  body?: string
  /** Returns a redirect to another host instead of following it, so that permission rules can check that host. */
  sameHostOnly?: true
}

/**
 * Fetches a public page. Prevents SSRF: scheme, host and IP address are checked for every redirect hop. A redirect to
 * another host is returned in `redirect_url`.
 */
export function fetchPage(network: NetworkPolicy, url: string, signal: AbortSignal): Promise<FetchedPage> {
  return fetchUrl(network, { url, sameHostOnly: true }, signal)
}

/** Like `fetchPage`, with headers or a body. Never follows a redirect to another origin with them (credential leak). */
export async function fetchUrl(
  network: NetworkPolicy,
  request: FetchRequest,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const limits = network.limits ?? DEFAULT_FETCH_LIMITS
  let url = parseUrl(request.url)
  let current = request
  for (let hop = 0; hop <= limits.redirects; hop++) {
    const response = await sendRequest(network, { ...current, url }, signal)
    const { statusCode: status = 0 } = response
    const { location } = response.headers
    if (location === undefined || ![301, 302, 303, 307, 308].includes(status))
      return readResponse(response, { url, limits, signal })
    response.destroy()
    const next = parseUrl(location, url)
    if (url.protocol === 'https:' && next.protocol === 'http:')
      throw accessDeniedError(
        `\`url\` ${url.href} redirects from https to http`,
        `fetch ${next.href} with a call of its own`,
      )
    if ((request.headers || request.body !== undefined) && next.origin !== url.origin) {
      const hint = 'fetch the new URL with a call of its own'
      throw accessDeniedError(`\`url\` ${url.host} redirects to another origin: ${next.host}`, hint)
    }
    if (request.sameHostOnly && normalizeHost(next.hostname) !== normalizeHost(url.hostname)) {
      checkHost(network, next)
      await resolveAllowedAddress(network.addresses, next)
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
    // As in browsers: only 307 and 308 repeat the method and the body.
    if (status < 307) current = { url: next.href, ...(request.headers ? { headers: request.headers } : undefined) }
    url = next
  }
  throw invalidCallError(`\`url\` ${request.url} redirects more than ${limits.redirects} times`, 'use another page')
}

function parseUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (!url) throw invalidCallError(`\`url\` '${text}' is not a valid URL`, 'use a URL that starts with https://')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw accessDeniedError(`the scheme '${url.protocol}' of \`url\` is not allowed`, 'use http or https')
  }
  if (url.username !== '' || url.password !== '')
    throw accessDeniedError('`url` contains a user name or a password', 'remove them')
  return url
}

interface RedirectHop extends Omit<FetchRequest, 'url'> {
  url: URL
}

function checkHost({ hosts }: NetworkPolicy, { hostname }: URL): void {
  if (isHostAllowed(hosts, hostname)) return
  throw accessDeniedError(
    `the host '${hostname}' of \`url\` is not allowed`,
    `allowed by \`network.hosts\`: ${hosts.join(', ') || 'none'}`,
  )
}

async function sendRequest(
  network: NetworkPolicy,
  { url, headers, body }: RedirectHop,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  checkHost(network, url)
  const defaults = {
    'user-agent': 'troupe',
    accept: 'text/html, text/*, application/json, */*;q=0.5',
    'accept-encoding': 'gzip, deflate, br',
  }
  const method = body === undefined ? 'GET' : 'POST'
  const request = { url, method, headers: { ...defaults, ...headers }, body, signal }
  return sendPinned(network.addresses, request).catch((thrown: unknown) => {
    if (signal.aborted || !(thrown instanceof TypeError)) throw thrown
    const reason = thrown.cause instanceof Error ? thrown.cause.message : thrown.message
    throw invalidCallError(`\`url\` ${url.href} is not reachable: ${reason}`, 'check the address, or try again later')
  })
}

async function readResponse(
  response: IncomingMessage,
  { url, limits, signal }: { url: URL; limits: FetchLimits; signal: AbortSignal },
): Promise<FetchedPage> {
  const { 'content-type': type = '', 'retry-after': retryAfter } = response.headers
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
    throw invalidCallError(
      `the response of \`url\` ${url.href} was interrupted: ${(error as Error).message}`,
      'try again',
    )
  } finally {
    response.destroy()
  }
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
    media_type: type.split(';')[0]?.trim().toLowerCase() ?? '',
    charset: /charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8',
    body: Buffer.concat(chunks).subarray(0, limits.bytes),
    truncated,
  }
}

/** Prevents decompression bombs (zip bombs): decompresses while streaming, so that the byte limit applies to the decompressed body. */
function decompress(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']
  const decompressor =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'br'
        ? createBrotliDecompress()
        : encoding === 'deflate'
          ? createInflate()
          : undefined
  if (!decompressor) return response
  response.once('error', (error) => decompressor.destroy(error))
  return response.pipe(decompressor)
}
