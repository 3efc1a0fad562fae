import type { DocumentedRoute, Route } from '../routes/route.ts'
import { defineRoute } from '../routes/route.ts'
import { startablePatterns } from '../routes/startable-patterns.ts'
import { openApiDocumentFrom } from './openapi-document.ts'
import { openApi } from './response-schemas.ts'

/** The route of the document about these routes and itself. */
export function openApiRoute(routes: readonly DocumentedRoute[]): Route {
  const route: Route = defineRoute('GET', '/api/openapi.json', {
    summary: 'Describe this API.',
    tag: 'session',
    scope: 'read',
    response: { description: 'An OpenAPI 3.1 document.', schema: openApi },
    handle: async ({ parts: { troupe, version } }) =>
      openApiDocumentFrom([...routes, route], { patterns: await startablePatterns(troupe), version }),
  })
  return route
}
