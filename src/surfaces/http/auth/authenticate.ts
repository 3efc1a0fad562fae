import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { refuse } from '../checks/refusal.ts'
import type { Scope } from '../contract.ts'
import type { HttpEnvironment, HttpParts } from '../http-parts.ts'
import type { Principal } from './principal.ts'

const HINT = 'open the address that `troupe serve` printed, or send its token as `Authorization: Bearer`'

/** The caller by its bearer token or cookie; 401 without one. */
export async function authenticate(
  context: Context<HttpEnvironment>,
  { credentials, hosts }: HttpParts,
): Promise<Principal> {
  if (context.req.header('authorization') !== undefined) {
    const token = bearerToken(context)
    const found = token === undefined ? undefined : await credentials.find('token', token)
    if (!found) throw refuse(401, { code: 'unauthorized', message: 'the token is not valid here', hint: HINT })
    return { name: found.principal, scopes: found.scopes, via: 'bearer', csrf: '' }
  }
  const cookie = getCookie(context, hosts.cookie)
  const session = cookie === undefined ? undefined : await credentials.find('session', cookie)
  if (cookie === undefined || !session)
    throw refuse(401, { code: 'unauthorized', message: 'there is no token', hint: HINT })
  return { name: session.principal, scopes: session.scopes, via: 'cookie', csrf: csrfToken(cookie) }
}

export function bearerToken(context: Context<HttpEnvironment>): string | undefined {
  return /^Bearer ([\w-]{16,256})$/i.exec(context.req.header('authorization') ?? '')?.[1]
}

/** Derived from the secret of the cookie, which no script and no other site can read. */
export function csrfToken(cookie: string): string {
  return createHash('sha256').update(`csrf\n${cookie}`).digest('base64url')
}

/** Prevents CSRF: a form or an image of another site can send the cookie, but no custom header. */
export function requireWriteHeader(context: Context<HttpEnvironment>, principal: Principal): void {
  if (principal.via === 'bearer') {
    if (context.req.header('x-troupe-request') === '1') return
    throw refuse(403, {
      code: 'csrf',
      message: 'the header `x-troupe-request` is missing',
      hint: 'send `x-troupe-request: 1` with every write',
    })
  }
  const sent = Buffer.from(context.req.header('x-troupe-csrf') ?? '')
  const expected = Buffer.from(principal.csrf)
  if (sent.length === expected.length && timingSafeEqual(sent, expected)) return
  throw refuse(403, {
    code: 'csrf',
    message: 'the header `x-troupe-csrf` is not that of this session',
    hint: 'reload the page',
  })
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (principal.scopes.includes(scope)) return
  throw refuse(403, {
    code: 'scope',
    message: `this needs the scope \`${scope}\`; the token has ${principal.scopes.join(', ') || 'none'}`,
    hint: 'ask the operator for a token with it (`troupe serve --token-scopes`)',
  })
}
