import { agUiRoutes } from '../front-ends/ag-ui-routes.ts'
import { uiMessageRoutes } from '../front-ends/ui-message-routes.ts'
import { artifactRoutes } from './artifact-routes.ts'
import { commandRoutes } from './command-routes.ts'
import { inboxRoutes } from './inbox-routes.ts'
import { reportRoutes } from './report-routes.ts'
import type { Route } from './route.ts'
import { runRoutes } from './run-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { viewRoutes } from './view-routes.ts'

/** All routes that answer with JSON or a file, in the order of matching. The router, the OpenAPI document and their tests are made from this list. */
export const apiRoutes: readonly Route[] = [
  ...sessionRoutes,
  ...viewRoutes,
  ...runRoutes,
  ...commandRoutes,
  ...artifactRoutes,
  ...inboxRoutes,
  ...reportRoutes,
  ...agUiRoutes,
  ...uiMessageRoutes,
]
