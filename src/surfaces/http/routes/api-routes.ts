import { inboxRoutes } from './inbox-routes.ts'
import type { Route } from './route.ts'
import { runRoutes } from './run-routes.ts'
import { sessionRoutes } from './session-routes.ts'

/** All routes that answer with JSON or a file. The router, the OpenAPI document and their tests are made from this list. */
export const apiRoutes: readonly Route[] = [...sessionRoutes, ...runRoutes, ...inboxRoutes]
