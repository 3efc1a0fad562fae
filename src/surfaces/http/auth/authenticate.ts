import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { refuse } from '../checks/refusal.ts'
import type { Scope } from '../contract.ts'
import type { HttpEnvironment } from '../http-parts.ts'
import type { Credentials } from './credentials.ts'
import type { Principal } from './principal.ts'

const HINT = 'open the address that `troupe serve` printed, or send its token as `Authorization: Bearer`'

/** The caller by its bearer token or cookie; 401 without one. */
export async function authenticate(
  context: Context<HttpEnvironment>,
  { credentials, cookie }: { credentials: Credentials; cookie: string },
): Promise<Principal> {
  if (context.req.header('authorization') !== undefined) {
    const token = bearerToken(context)
    const found = token === undefined ? undefined : await credentials.find('token', token)
    if (!found) throw refuse(401, { code: 'unauthorized', message: 'the token is not valid here', hint: HINT })
    return { name: found.principal, scopes: found.scopes }
  }
  // Browsers send cookies to every port of a host: a server that an agent has started on another one gets it, but not what only the page has.
  const secret = sessionSecret(context, cookie)
  const session = secret === undefined ? undefined : await credentials.find('session', secret)
  if (!session) throw refuse(401, { code: 'unauthorized', message: 'there is no token', hint: HINT })
  return { name: session.principal, scopes: session.scopes, csrf: context.req.header(CSRF_HEADER) ?? '' }
}

const CSRF_HEADER = 'x-troupe-csrf'

/** The cookie and the header together; `undefined` without both. Prevents CSRF, too: no other site can send the header. */
export function sessionSecret(context: Context<HttpEnvironment>, cookieName: string): string | undefined {
  const cookie = getCookie(context, cookieName)
  const csrf = context.req.header(CSRF_HEADER)
  return cookie === undefined || csrf === undefined ? undefined : cookie + csrf
}

export function bearerToken(context: Context<HttpEnvironment>): string | undefined {
  return /^Bearer ([\w-]{16,256})$/i.exec(context.req.header('authorization') ?? '')?.[1]
}

/** A custom header, which a form or an image of another site cannot send (CSRF). A session has its own. */
export function requireWriteHeader(context: Context<HttpEnvironment>, principal: Principal): void {
  if (principal.csrf !== undefined || context.req.header('x-troupe-request') === '1') return
  throw refuse(403, {
    code: 'csrf',
    message: 'the header `x-troupe-request` is missing',
    hint: 'send `x-troupe-request: 1` with every write',
  })
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope)) return
  throw refuse(403, {
    code: 'scope',
    message: `this needs the scope \`${scope}\`; the caller has ${principal.scopes.join(', ') || 'none'}`,
    hint: 'the operator grants scopes (`troupe serve --token-scopes`, `authenticate` of a handler)',
  })
}
