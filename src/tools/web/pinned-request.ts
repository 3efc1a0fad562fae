import type { IncomingMessage } from 'node:http'
import type { AddressPolicy } from './ssrf-guard.ts'
import { portFrom, resolveAllowedAddress } from './ssrf-guard.ts'

export interface PinnedRequest {
  url: URL
  method: string
  headers: Readonly<Record<string, string>>
  body?: string | undefined
  signal?: AbortSignal | null | undefined
}

/**
 * Sends a request to the vetted address of its host. Prevents SSRF by DNS rebinding, for the name is only used for TLS and the `Host` header,
 * and by redirects, which are not followed. Like with `fetch`, a network failure is a TypeError.
 */
export async function sendPinned(
  addresses: AddressPolicy,
  { url, method, headers, body, signal }: PinnedRequest,
): Promise<IncomingMessage> {
  const secure = url.protocol === 'https:'
  const { address, family } = await resolveAllowedAddress(addresses, url)
  // Imported late: as a module, `node:http` loads all of undici, which every start of the command line would pay for.
  const { request: openRequest } = await (secure ? import('node:https') : import('node:http'))
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const request = openRequest(
      {
        host: address,
        family,
        port: portFrom(url),
        path: url.pathname + url.search,
        method,
        headers: { ...headers, host: url.host },
        ...(secure ? { servername: url.hostname.replace(/^\[|\]$/g, '') } : undefined),
        agent: false,
        ...(signal ? { signal } : undefined),
      },
      resolve,
    )
    request.on('error', (cause) =>
      reject(signal?.aborted ? signal.reason : new TypeError(`fetch failed: ${cause.message}`, { cause })),
    )
    request.end(body)
  })
}
