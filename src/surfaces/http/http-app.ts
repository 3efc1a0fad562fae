import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { formatIssues } from '../../schema/schema.ts'
import type * as z from '../../schema/zod.ts'
import { authenticate, requireScope, requireWriteHeader } from './auth/authenticate.ts'
import { addSecurityHeaders, isApiPath, requireKnownHost, requireOwnOrigin } from './checks/browser-checks.ts'
import { errorResponseFrom } from './checks/error-response.ts'
import { readJsonBody } from './checks/read-json-body.ts'
import { refuse } from './checks/refusal.ts'
import { createTextCompressor, textBody } from './compression/gzip-response.ts'
import type { HttpApp, HttpEnvironment, HttpParts } from './http-parts.ts'
import { openApiRoute } from './openapi/openapi-document.ts'
import { apiRoutes } from './routes/api-routes.ts'
import type { DocumentedRoute, Route } from './routes/route.ts'
import { mountStreams } from './streams/mount-streams.ts'

/*
 * The HTTP API and the page. The order of the checks:
 * 1. `Host`, before anything else (DNS rebinding); 2. `Origin` and `Sec-Fetch-Site`; 3. the page, which holds nothing of the project;
 * 4. who calls, and the limits of the caller; 5. for writes the custom header (CSRF); 6. the scope of the route; 7. query and body.
 */

/** The application. It holds no state but that of its parts. */
export function createHttpApp(parts: HttpParts): HttpApp {
  const app: HttpApp = new Hono<HttpEnvironment>({ strict: true })
  app.use(async (context, next) => {
    requireKnownHost(context, parts.hosts)
    requireOwnOrigin(context, parts.hosts)
    await next()
    addSecurityHeaders(context.res)
  })
  app.onError((thrown, context) => {
    const { status, body, isUnexpected } = errorResponseFrom(thrown)
    if (isUnexpected) parts.onError(thrown)
    return addSecurityHeaders(context.json(body, status))
  })
  app.use('/api/*', protectApi(parts))
  const { troupe, signal, limits } = parts
  const streams = mountStreams(app, { troupe, signal, openStream: limits.openStream, onError: parts.onError })
  const routes = [...apiRoutes, openApiRoute([...apiRoutes, ...streams])]
  for (const route of routes) mountRoute(app, route, parts)
  for (const [path, same] of Map.groupBy([...routes, ...streams], (route) => route.path))
    app.all(path, rejectMethod(same))
  app.all('/api/*', () => {
    throw refuse(404, { code: 'not_found', message: 'there is no such route' })
  })
  const pack = createTextCompressor()
  // Browsers ask for it by themselves.
  app.get('/favicon.ico', (context) => context.body(null, 204))
  app.get('*', async (context) => {
    const name = context.req.path.slice(1)
    const file =
      (await parts.readPageFile(name)) ?? (isPlace(name) ? await parts.readPageFile('index.html') : undefined)
    if (!file) throw refuse(404, { code: 'not_found', message: 'there is no such page' })
    const packed = pack(file.type, file.content)
    const { body, headers } = await textBody(file.content, context.req.header('accept-encoding'), packed)
    return context.body(body, 200, { ...headers, 'content-type': file.type })
  })
  app.notFound(() => {
    throw refuse(404, { code: 'not_found', message: 'there is no such page' })
  })
  return app
}

/** Addresses inside the page, such as `runs/r_1/plan`, have no file ending. */
function isPlace(path: string): boolean {
  return !/\.\w+$/.test(path) && !isApiPath(`/${path}`)
}

function protectApi(parts: HttpParts): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const principal = await authenticate(context, parts).catch((thrown: unknown) => {
      parts.limits.beginRequest('')()
      throw thrown
    })
    context.set('principal', principal)
    const end = parts.limits.beginRequest(principal.name)
    try {
      if (!isRead(context.req.method)) requireWriteHeader(context, principal)
      else requireScope(principal, 'read')
      await next()
    } finally {
      end()
    }
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function mountRoute(app: HttpApp, route: Route, parts: HttpParts): void {
  app.on(route.method, route.path, async (context) => {
    const principal = context.get('principal')
    if (route.scope !== null) requireScope(principal, route.scope)
    const query = parseFields(route.query, queryFields(context), 'query')
    const body = isRead(route.method) ? undefined : parseFields(route.body, await readJsonBody(context.req.raw), 'body')
    const value = await route.handle({ params: context.req.param(), query, body, principal, parts, context })
    if (value instanceof Response) return value
    const accepted = route.isSecret ? undefined : context.req.header('accept-encoding')
    const { body: content, headers } = await textBody(JSON.stringify(value), accepted)
    return context.body(content, 200, { ...headers, 'content-type': 'application/json' })
  })
}

function queryFields(context: Context): Record<string, string | string[]> {
  const fields = Object.entries(context.req.queries())
  return Object.fromEntries(fields.map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]))
}

function parseFields(schema: z.ZodType | undefined, value: unknown, place: string): unknown {
  if (!schema) {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
    if (isEmpty) return {}
    throw refuse(400, { code: 'invalid_input', message: `this takes no ${place}` })
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refuse(400, { code: 'invalid_input', message: `${place}: ${formatIssues(parsed.error)}` })
}

function rejectMethod(routes: readonly DocumentedRoute[]): MiddlewareHandler<HttpEnvironment> {
  const methods = routes.map(({ method }) => method).join(' or ')
  return () => {
    throw refuse(405, {
      code: 'method_not_allowed',
      message: 'this route does not take the method',
      hint: `use ${methods}`,
    })
  }
}
