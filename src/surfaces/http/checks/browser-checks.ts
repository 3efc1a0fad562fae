import type { Context } from 'hono'
import type { HttpEnvironment } from '../http-parts.ts'
import { refuse } from './refusal.ts'

/** Refuses what a page of another site sends, unless its origin is one of `origins`. */
export function requireOwnOrigin(context: Context<HttpEnvironment>, origins: readonly string[]): void {
  const origin = context.req.header('origin')
  if (origin !== undefined && origins.includes(origin)) return
  const site = context.req.header('sec-fetch-site')
  // The address of the request is no help: behind a proxy that ends TLS it has another scheme than the page.
  const isOwn =
    site === undefined
      ? origin === undefined || namesHost(origin, context.req.header('host'))
      : ['same-origin', 'none'].includes(site) || (origin === undefined && isLinkToPage(context))
  if (isOwn) return
  throw refuse(403, {
    code: 'origin',
    message: 'requests from pages of other sites are refused',
    hint: 'open the address of the server itself',
  })
}

/** Compares the hosts without the default port of the scheme. */
function namesHost(origin: string, host: string | undefined): boolean {
  const page = URL.parse(origin)
  if (!page?.host || host === undefined) return false
  return page.host === URL.parse(`${page.protocol}//${host}`)?.host
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
