import type { Context } from 'hono'
import type { AllowedHosts, HttpEnvironment } from '../http-parts.ts'
import { refuse } from './refusal.ts'

/** Prevents DNS rebinding: a name of an attacker that resolves to this machine reaches nothing, not even a login. */
export function requireKnownHost(context: Context<HttpEnvironment>, hosts: AllowedHosts): void {
  const host = context.req.header('host')?.toLowerCase()
  if (host !== undefined && hosts.names.has(host)) return
  throw refuse(421, {
    code: 'misdirected',
    message: 'this server does not answer for that `Host`',
    hint: 'use the address that `troupe serve` printed; the operator adds names with `--public-host`',
  })
}

/** Refuses what a page of another site sends, with or without the cookie. There is no CORS. */
export function requireOwnOrigin(context: Context<HttpEnvironment>, hosts: AllowedHosts): void {
  const origin = context.req.header('origin')
  const site = context.req.header('sec-fetch-site')
  const isForeign =
    (origin !== undefined && !hosts.origins.has(origin.toLowerCase())) ||
    (site === 'cross-site' && !isLinkToPage(context)) ||
    // Another port of this machine is the same site.
    (site === 'same-site' && isApiPath(context.req.path))
  if (!isForeign) return
  throw refuse(403, {
    code: 'origin',
    message: 'requests from pages of other sites are refused',
    hint: 'open the address of the server itself',
  })
}

/** A link to the page, such as the file that `--open` gives to the browser: the page holds nothing of the project, and cannot be framed. */
function isLinkToPage({ req }: Context<HttpEnvironment>): boolean {
  const isNavigation = req.header('sec-fetch-mode') === 'navigate' && req.header('sec-fetch-dest') === 'document'
  return isNavigation && req.method === 'GET' && !isApiPath(req.path)
}

export function isApiPath(path: string): boolean {
  return path === '/api' || path.startsWith('/api/')
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

export const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Sets the security headers of a response that has none of its own. */
export function addSecurityHeaders(response: Response): Response {
  for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.headers.set(name, value)
  return response
}
