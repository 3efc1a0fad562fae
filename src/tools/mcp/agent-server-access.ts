import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { TroupeError } from '../../errors.ts'
import { accessDeniedError } from '../tool-errors.ts'
import { sendPinned } from '../web/pinned-request.ts'
import type { AddressPolicy } from '../web/ssrf-guard.ts'
import { isHostAllowed } from '../web/ssrf-guard.ts'

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

/** Like `fetch`, but pinned to the vetted address for every request (`sendPinned`). */
export function createPinnedFetch(access: AgentServerAccess): Fetch {
  return async (target, { method = 'GET', headers, body, signal } = {}) => {
    const url = new URL(target)
    checkServerHost(access, url.href)
    const request = { url, method, headers: Object.fromEntries(new Headers(headers)), signal }
    const text = typeof body === 'string' ? body : undefined
    const message = await sendPinned(access.addresses, { ...request, body: text }).catch((thrown: unknown) => {
      if (!(thrown instanceof TroupeError) || thrown.code !== 'denied') throw thrown
      throw accessDeniedError(
        `${thrown.message}; agent-provided servers need a public address`,
        `use a public address, or ${OPERATOR_HINT}`,
      )
    })
    try {
      return toResponse(message)
    } catch (thrown) {
      message.destroy()
      throw thrown
    }
  }
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
