import type { Context, MiddlewareHandler } from 'hono'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import { getPath } from 'hono/utils/url'
import type { Troupe } from '../../index.ts'
import { formatIssues } from '../../schema/schema.ts'
import type * as z from '../../schema/zod.ts'
import { requireScope, requireWriteHeader } from './auth/authenticate.ts'
import type { Principal } from './auth/principal.ts'
import { addSecurityHeaders, isApiPath, requireOwnOrigin } from './checks/browser-checks.ts'
import { errorResponseFrom } from './checks/error-response.ts'
import { readJsonBody } from './checks/read-json-body.ts'
import { refuse } from './checks/refusal.ts'
import { limitKey } from './checks/request-limits.ts'
import { acceptedEncoding, createTextCompressor, textBody } from './compression/gzip-response.ts'
import type { HttpApp, HttpEnvironment, HttpParts } from './http-parts.ts'
import { openApiRoute } from './openapi/openapi-document.ts'
import type { PageFile } from './page/page-files.ts'
import { apiRoutes } from './routes/api-routes.ts'
import type { DocumentedRoute, Route } from './routes/route.ts'
import { mountStreams } from './streams/mount-streams.ts'

/*
 * The HTTP API and the page. The order of the checks:
 * 1. `Origin` and `Sec-Fetch-Site`; 2. the page, which holds nothing of the project; 3. who calls, and the limits of the caller; 4. for writes
 *    the custom header (CSRF); 5. the scope of the route; 6. query and body. Whoever owns the socket checks `Host` before (DNS rebinding).
 */

/** The application: what its routes work with, and who may call them. */
export interface HttpAppOptions extends HttpParts {
  /** Finds out who sends a request: the caller, `null` for 401, or another response. */
  authenticate(context: Context<HttpEnvironment>): Promise<Principal | Response | null>
  /** Origins of other sites whose pages may call. */
  origins: readonly string[]
  /** A file of the page by its name; `undefined` if there is none. Without it there is no page. */
  readPageFile?: ((name: string) => Promise<PageFile | undefined>) | undefined
  /** Routes beside those of the API. */
  routes?: readonly Route[]
}

/** The application. It holds no state but that of its parts. */
export function createHttpApp(options: HttpAppOptions): HttpApp {
  const { basePath, origins, signal, limits, onError } = options
  const getAppPath = (request: Request) => withoutBase(getPath(request), basePath)
  const app: HttpApp = new Hono<HttpEnvironment>({ strict: true, getPath: getAppPath })
  app.use(async (context, next) => {
    requireOwnOrigin(context, origins)
    await next()
    addSecurityHeaders(context.res)
  })
  if (origins.length > 0) app.use('/api/*', cors({ origin: [...origins], ...CORS }))
  app.onError((thrown, context) => {
    const { status, body, isUnexpected } = errorResponseFrom(thrown)
    if (isUnexpected) onError(thrown)
    return addSecurityHeaders(context.json(body, status))
  })
  app.use('/api/*', protectApi(options))
  const streams = mountStreams(app, { signal, openStream: limits.openStream, onError })
  const listed = [...apiRoutes, ...(options.routes ?? [])]
  const routes = [...listed, openApiRoute([...listed, ...streams])]
  for (const route of routes) mountRoute(app, route, options)
  for (const [path, same] of Map.groupBy([...routes, ...streams], (route) => route.path))
    app.all(path, rejectMethod(same))
  app.all('/api/*', () => {
    throw refuse(404, { code: 'not_found', message: 'there is no such route' })
  })
  mountPage(app, options)
  app.notFound(() => {
    throw refuse(404, { code: 'not_found', message: 'there is no such page' })
  })
  return app
}

/** The page of another origin sends the cookies of this one, and the headers of the API. */
const CORS = {
  credentials: true,
  allowMethods: ['GET', 'POST'],
  allowHeaders: ['content-type', 'authorization', 'x-troupe-request', 'last-event-id'],
  maxAge: 600,
}

/** The path below `basePath`; a framework may have removed the prefix already. */
export function withoutBase(path: string, basePath: string): string {
  if (path === basePath) return '/'
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path
}

function mountPage(app: HttpApp, { readPageFile, basePath }: HttpAppOptions): void {
  if (!readPageFile) return
  const pack = createTextCompressor()
  // Browsers ask for it by themselves.
  app.get('/favicon.ico', (context) => context.body(null, 204))
  app.get('*', async (context) => {
    const name = context.req.path.slice(1)
    const file = (await readPageFile(name)) ?? (isPlace(name) ? await readPageFile('index.html') : undefined)
    if (!file) throw refuse(404, { code: 'not_found', message: 'there is no such page' })
    const content = file.content.replaceAll('="/app.', `="${basePath}/app.`)
    const packed = pack(file.type, content)
    const { body, headers } = await textBody(content, acceptedEncoding(context), packed)
    return context.body(body, 200, { ...headers, 'content-type': file.type })
  })
}

/** Addresses inside the page, such as `runs/r_1/plan`, have no file ending. */
function isPlace(path: string): boolean {
  return !/\.\w+$/.test(path) && !isApiPath(`/${path}`)
}

function protectApi(options: HttpAppOptions): MiddlewareHandler<HttpEnvironment> {
  const { limits } = options
  const troupeOf = projectTroupes(options.troupe)
  return async (context, next) => {
    const caller = await identify(context, options).catch((thrown: unknown) => {
      limits.beginRequest('')()
      throw thrown
    })
    if (!('scopes' in caller)) {
      limits.beginRequest('')()
      return caller
    }
    const end = limits.beginRequest(limitKey(caller))
    try {
      context.set('principal', caller)
      context.set('troupe', await troupeOf(caller.project))
      if (!isRead(context.req.method)) requireWriteHeader(context, caller)
      else requireScope(caller, 'read')
      return await next()
    } finally {
      end()
    }
  }
}

/** 401 for nobody. */
async function identify(
  context: Context<HttpEnvironment>,
  { authenticate }: HttpAppOptions,
): Promise<Principal | Response> {
  const caller = await authenticate(context)
  if (caller) return caller
  throw refuse(401, { code: 'unauthorized', message: 'the caller is not known' })
}

/** One troupe for each project, made when its first caller comes. */
function projectTroupes(troupe: Troupe): (project: string | undefined) => Promise<Troupe> | Troupe {
  const made = new Map<string, Promise<Troupe>>()
  return (project = troupe.project) => {
    if (project === troupe.project) return troupe
    const known = made.get(project) ?? troupe.inProject(project)
    made.set(project, known)
    return known
  }
}

function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD'
}

function mountRoute(app: HttpApp, route: Route, options: HttpParts): void {
  app.on(route.method, route.path, async (context) => {
    const principal = context.get('principal')
    const parts = { ...options, troupe: context.get('troupe') }
    if (route.scope !== null) requireScope(principal, route.scope)
    const query = parseFields(route.query, queryFields(context), 'query')
    const body = isRead(route.method) ? undefined : parseFields(route.body, await readJsonBody(context.req.raw), 'body')
    const value = await route.handle({ params: context.req.param(), query, body, principal, parts, context })
    if (value instanceof Response) return value
    const accepted = route.isSecret ? undefined : acceptedEncoding(context)
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
