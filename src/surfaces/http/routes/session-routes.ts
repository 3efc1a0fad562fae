import { deleteCookie, setCookie } from 'hono/cookie'
import { bearerToken, sessionSecret } from '../auth/authenticate.ts'
import { splitSessionSecret } from '../auth/credentials.ts'
import type { Principal } from '../auth/principal.ts'
import { refuse } from '../checks/refusal.ts'
import type { PageSession } from '../contract.ts'
import type { HttpParts } from '../http-parts.ts'
import { nothing, pageSession } from '../openapi/response-schemas.ts'
import { defineRoute } from './route.ts'
import { startablePatterns } from './start-pattern.ts'

/** A cookie that only this host gets, that no script reads, and that no other site makes a browser send. */
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'Strict' } as const
const COOKIE_SECONDS = 30 * 24 * 3600

const response = {
  description: 'The caller, and the patterns that can be started (`PageSession`).',
  schema: pageSession,
}

const getSession = defineRoute('GET', '/api/session', {
  summary: 'Tell who the caller is.',
  tag: 'session',
  scope: null,
  isSecret: true,
  response,
  handle: ({ parts, principal }) => sessionFrom(parts, principal),
})

const openSession = defineRoute('POST', '/api/session', {
  summary: 'Exchange a bearer token for the cookie of a page.',
  tag: 'session',
  scope: null,
  isSecret: true,
  response,
  async handle({ parts, principal: { name, scopes }, context }) {
    const token = bearerToken(context)
    const secret = token === undefined ? undefined : await parts.credentials.openSession(token)
    if (secret === undefined) {
      throw refuse(403, {
        code: 'session',
        message: 'a session is opened with a bearer token, not by another session',
        hint: 'open the address that `troupe serve` printed',
      })
    }
    const { cookie, csrf } = splitSessionSecret(secret)
    setCookie(context, parts.hosts.cookie, cookie, { ...COOKIE, maxAge: COOKIE_SECONDS })
    return sessionFrom(parts, { name, scopes, via: 'cookie', csrf })
  },
})

const closeSession = defineRoute('DELETE', '/api/session', {
  summary: 'End the session of a page.',
  tag: 'session',
  scope: null,
  response: { description: 'An empty object.', schema: nothing },
  async handle({ parts: { credentials, hosts }, context }) {
    const secret = sessionSecret(context, hosts.cookie)
    if (secret !== undefined) await credentials.revoke(secret)
    deleteCookie(context, hosts.cookie, COOKIE)
    return {}
  },
})

async function sessionFrom({ troupe, project, version }: HttpParts, principal: Principal): Promise<PageSession> {
  const startable = await startablePatterns(troupe)
  return {
    principal: principal.name,
    scopes: [...principal.scopes],
    project,
    version,
    csrf: principal.csrf,
    patterns: startable.map(({ pattern: { name, description, checkSteer }, inputSchema }) => ({
      name,
      description,
      input: inputSchema,
      steer: checkSteer !== undefined,
    })),
  }
}

export const sessionRoutes = [getSession, openSession, closeSession]
