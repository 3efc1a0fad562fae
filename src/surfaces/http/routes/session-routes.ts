import { PACKAGE_VERSION } from '../../../schema/package-version.ts'
import type { Principal } from '../auth/principal.ts'
import type { PageSession } from '../contract.ts'
import type { HttpParts } from '../http-parts.ts'
import { pageSession } from '../openapi/response-schemas.ts'
import { defineRoute } from './route.ts'
import { startablePatterns } from './start-pattern.ts'

export const sessionResponse = {
  description: 'The caller, and the patterns that can be started (`PageSession`).',
  schema: pageSession,
}

const getSession = defineRoute('GET', '/api/session', {
  summary: 'Tell who the caller is.',
  tag: 'session',
  scope: null,
  isSecret: true,
  response: sessionResponse,
  handle: ({ parts, principal }) => pageSessionFrom(parts, principal),
})

export async function pageSessionFrom({ troupe }: HttpParts, principal: Principal): Promise<PageSession> {
  const startable = await startablePatterns(troupe)
  return {
    principal: principal.name,
    scopes: [...principal.scopes],
    project: troupe.project,
    version: PACKAGE_VERSION,
    csrf: principal.csrf ?? '',
    patterns: startable.map(({ pattern: { name, description, checkSteer }, inputSchema }) => ({
      name,
      description,
      input: inputSchema,
      steer: checkSteer !== undefined,
    })),
  }
}

export const sessionRoutes = [getSession]
