import type { ClientRequest, IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { accessDeniedError } from '../tool-errors.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { isHostAllowed, resolveAllowedAddress } from '../web/ssrf-guard.ts'

/*
 * Limits of agent-provided MCP servers. The author of an agent file is not the operator: such a server gets only the
 * environment variables listed in `exposeEnv` (environment leakage), and reaches only public addresses of allowed hosts (SSRF).
 */

export interface AgentServerAccess {
  /** Environment variables that `${NAME}` may refer to. */
  exposeEnv: readonly string[]
  /** Host names, `*.name` for subdomains, or `*` for any public host. */
  hosts: readonly string[]
  addresses: AddressPolicy
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const OPERATOR_HINT = 'add the server to `mcpServers` of the operator'

/** Throws unless the host is allowed. Its addresses are checked with every request. */
export function checkServerHost(access: AgentServerAccess, serverUrl: string): void {
  const url = URL.parse(serverUrl)
  if (!url || !/^https?:$/.test(url.protocol))
    throw accessDeniedError('`url` is not a valid http or https URL', 'correct it in the agent file')
  if (isHostAllowed(access.hosts, url.hostname)) return
  const allowed = `allowed: ${access.hosts.join(', ') || 'none'}`
  throw accessDeniedError(
    `the host '${url.hostname}' is not allowed for agent-provided servers`,
    `allow it with --allow-host ${url.hostname}, or ${OPERATOR_HINT}; ${allowed}`,
  )
}

/**
 * Like `fetch`, but pinned to the vetted address for every request. Prevents SSRF by DNS rebinding and by redirects, which
 * are not followed.
 */
export function createPinnedFetch(access: AgentServerAccess): Fetch {
  return async (target, init = {}) => {
    const url = new URL(target)
    checkServerHost(access, url.href)
    const { address, family } = await resolveServerAddress(access, url)
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

async function resolveServerAddress(access: AgentServerAccess, url: URL): ReturnType<typeof resolveAllowedAddress> {
  try {
    return await resolveAllowedAddress(access.addresses, url.hostname, portFrom(url))
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'denied') throw thrown
    throw accessDeniedError(
      `${thrown.message}; agent-provided servers need a public address`,
      `use a public address, or ${OPERATOR_HINT}`,
    )
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
    // Like `fetch`: a network failure is a TypeError, which `isConnectionLoss` relies on.
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
