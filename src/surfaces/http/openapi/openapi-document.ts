import type { JsonSchema } from '../../../index.ts'
import { PACKAGE_VERSION } from '../../../schema/package-version.ts'
import { compileSchema } from '../../../schema/schema.ts'
import type * as z from '../../../schema/zod.ts'
import type { DocumentedRoute, Route } from '../routes/route.ts'
import { defineRoute } from '../routes/route.ts'
import type { StartablePattern } from '../routes/start-pattern.ts'
import { startablePatterns } from '../routes/start-pattern.ts'
import { errorBody, openApi } from './response-schemas.ts'

/** The parts of an OpenAPI 3.1 document that this API uses. */
export interface OpenApiDocument {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: Record<'securitySchemes' | 'schemas', Record<string, JsonSchema>>
}

export interface OpenApiOperation {
  operationId: string
  summary: string
  tags: string[]
  description: string
  parameters: OpenApiParameter[]
  requestBody?: { required: true; content: Record<string, { schema: JsonSchema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: JsonSchema }> }>
}

interface OpenApiParameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: JsonSchema
}

/** The route that starts runs: the document has one path for each pattern, with the schema of its input. */
const START_PATH = '/api/patterns/:pattern/runs'

/** The route of the document about these routes and itself. */
export function openApiRoute(routes: readonly DocumentedRoute[]): Route {
  const route: Route = defineRoute('GET', '/api/openapi.json', {
    summary: 'Describe this API.',
    tag: 'session',
    scope: 'read',
    response: { description: 'An OpenAPI 3.1 document.', schema: openApi },
    handle: async ({ parts: { troupe, basePath } }) =>
      openApiDocumentFrom([...routes, route], await startablePatterns(troupe), basePath),
  })
  return route
}

function openApiDocumentFrom(
  routes: readonly DocumentedRoute[],
  patterns: readonly StartablePattern[],
  basePath: string,
): OpenApiDocument {
  const documented = routes.flatMap((route) =>
    route.path === START_PATH ? patterns.map((pattern) => startOperation(route, pattern)) : [operationFrom(route)],
  )
  // A handler has the authentication of its server.
  const hasTokens = routes.some(({ method, path }) => method === 'POST' && path === '/api/session')
  const paths: OpenApiDocument['paths'] = {}
  for (const { path, method, operation } of documented)
    paths[path] = { ...paths[path], [method]: mergedOperation(paths[path]?.[method], operation) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Troupe',
      version: PACKAGE_VERSION,
      description:
        'Writes need `content-type: application/json` and `x-troupe-request: 1`. The cookie of a page needs `x-troupe-csrf` with every request instead.',
    },
    servers: [{ url: basePath || '/' }],
    security: hasTokens ? [{ token: [] }, { cookie: [] }] : [],
    paths,
    components: {
      securitySchemes: hasTokens ? SECURITY_SCHEMES : {},
      schemas: { Error: schemaFrom(errorBody) },
    },
  }
}

const SECURITY_SCHEMES = {
  token: { type: 'http', scheme: 'bearer' },
  cookie: { type: 'apiKey', in: 'cookie', name: '__Host-troupe-PORT' },
}

/** A route that answers in several media types is defined once for each. */
function mergedOperation(first: OpenApiOperation | undefined, second: OpenApiOperation): OpenApiOperation {
  if (!first) return second
  const names = first.parameters.map(({ name }) => name)
  const [one, other] = [first.responses[200], second.responses[200]]
  const description = `${one?.description} ${other?.description}`
  return {
    ...first,
    description: `${first.description} ${second.summary}`,
    parameters: [...first.parameters, ...second.parameters.filter(({ name }) => !names.includes(name))],
    responses: { ...first.responses, 200: { description, content: { ...one?.content, ...other?.content } } },
  }
}

interface DocumentedOperation {
  path: string
  method: string
  operation: OpenApiOperation
}

function operationFrom(route: DocumentedRoute): DocumentedOperation {
  const { method, summary, tag, scope, response } = route
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
  const body = route.body && schemaFrom(route.body)
  const isRead = method === 'GET'
  const content = {
    [response.type ?? 'application/json']: { schema: response.schema ? schemaFrom(response.schema) : {} },
  }
  return {
    path,
    method: method.toLowerCase(),
    operation: {
      operationId: operationId(method, path),
      summary,
      tags: [tag],
      description: scope === null ? 'Needs a valid token.' : `Needs the scope \`${scope}\`.`,
      parameters: [...pathParameters(path), ...queryParameters(route.query)],
      ...(isRead ? undefined : { requestBody: jsonBody(body ?? { type: 'object', additionalProperties: false }) }),
      responses: {
        200: { description: response.description, content },
        default: {
          description: 'An error.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
    },
  }
}

function startOperation(route: DocumentedRoute, { pattern, inputSchema }: StartablePattern): DocumentedOperation {
  const { path, ...rest } = operationFrom({ ...route, path: route.path.replace(':pattern', pattern.name) })
  const { properties } = route.body ? schemaFrom(route.body) : {}
  const schema: JsonSchema = {
    type: 'object',
    required: ['input'],
    additionalProperties: false,
    properties: { ...(properties as object), input: inputSchema },
  }
  const description = `${pattern.description} ${rest.operation.description}`
  return { path, ...rest, operation: { ...rest.operation, description, requestBody: jsonBody(schema) } }
}

function jsonBody(schema: JsonSchema): NonNullable<OpenApiOperation['requestBody']> {
  return { required: true, content: { 'application/json': { schema } } }
}

function pathParameters(path: string): OpenApiParameter[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(query: z.ZodType | undefined): OpenApiParameter[] {
  if (!query) return []
  const { properties = {}, required = [] } = schemaFrom(query) as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

function schemaFrom(schema: z.ZodType): JsonSchema {
  const { $schema: _schema, ...rest } = compileSchema(schema).jsonSchema
  return rest
}

/** `GET /api/runs/{run_id}/result` becomes `getRunsRunIdResult`. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '' && word !== 'api')
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
