import { deleteCookie, setCookie } from 'hono/cookie'
import { refuse } from '../checks/refusal.ts'
import { nothing } from '../openapi/response-schemas.ts'
import type { Route } from '../routes/route.ts'
import { defineRoute } from '../routes/route.ts'
import { pageSessionFrom, sessionResponse } from '../routes/session-routes.ts'
import { bearerToken, sessionSecret } from './authenticate.ts'
import type { Credentials } from './credentials.ts'
import { splitSessionSecret } from './credentials.ts'

/** A cookie that only this host gets, that no script reads, and that no other site makes a browser send. */
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'Strict' } as const
const COOKIE_SECONDS = 30 * 24 * 3600

/** The routes by which a page signs in and out. `cookieName` is known when the server listens. */
export function pageSessionRoutes(credentials: Credentials, cookieName: () => string): readonly Route[] {
  const openSession = defineRoute('POST', '/api/session', {
    summary: 'Exchange a bearer token for the cookie of a page.',
    tag: 'session',
    scope: null,
    isSecret: true,
    response: sessionResponse,
    async handle({ parts, principal: { name, scopes }, context }) {
      const token = bearerToken(context)
      const secret = token === undefined ? undefined : await credentials.openSession(token)
      if (secret === undefined) {
        throw refuse(403, {
          code: 'session',
          message: 'a session is opened with a bearer token, not by another session',
          hint: 'open the address that `troupe serve` printed',
        })
      }
      const { cookie, csrf } = splitSessionSecret(secret)
      setCookie(context, cookieName(), cookie, { ...COOKIE, maxAge: COOKIE_SECONDS })
      return pageSessionFrom(parts, { name, scopes, csrf })
    },
  })
  const closeSession = defineRoute('DELETE', '/api/session', {
    summary: 'End the session of a page.',
    tag: 'session',
    scope: null,
    response: { description: 'An empty object.', schema: nothing },
    async handle({ context }) {
      const secret = sessionSecret(context, cookieName())
      if (secret !== undefined) await credentials.revoke(secret)
      deleteCookie(context, cookieName(), COOKIE)
      return {}
    },
  })
  return [openSession, closeSession]
}
