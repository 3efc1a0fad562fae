import type { Context } from 'hono'
import * as z from '../../../schema/zod.ts'
import type { Principal } from '../auth/principal.ts'
import type { Scope } from '../contract.ts'
import type { HttpEnvironment, HttpParts } from '../http-parts.ts'

/** A route as the OpenAPI document describes it. */
export interface DocumentedRoute {
  method: 'GET' | 'POST' | 'DELETE'
  /** With parameters such as `:run_id`. */
  path: string
  /** One sentence. */
  summary: string
  /** The group in the document. */
  tag: string
  /** `null`: a valid token or cookie is enough. */
  scope: Scope | null
  query?: z.ZodType
  body?: z.ZodType
  /** The response holds a secret, and is not compressed (BREACH). */
  isSecret?: boolean
  /** The response: its media type (default: JSON), what it is, and the schema of JSON. */
  response: { description: string; type?: string; schema?: z.ZodType }
}

export interface RouteRequest<Query = unknown, Body = unknown> {
  params: Readonly<Record<string, string>>
  query: Query
  body: Body
  principal: Principal
  parts: HttpParts
  context: Context<HttpEnvironment>
}

/** A route with its implementation. The value that it returns is sent as JSON, unless it is a `Response`. */
export interface Route extends DocumentedRoute {
  handle(request: RouteRequest): Promise<unknown>
}

/** Defines a route: `query` and `body` give the request its types, and are checked before `handle` is called. */
export function defineRoute<Query extends z.ZodType, Body extends z.ZodType>(
  method: Route['method'],
  path: string,
  route: Omit<DocumentedRoute, 'method' | 'path' | 'query' | 'body'> & {
    query?: Query
    body?: Body
    handle(request: RouteRequest<z.output<Query>, z.output<Body>>): Promise<unknown>
  },
): Route {
  // The schemas are checked before every call, which no type can express.
  return { method, path, ...route } as never
}

/** A whole number in a query. */
export const queryNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'not a whole number')
  .transform(Number)

/** A list in a query: repeated, or separated by commas. */
export const queryList = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (typeof value === 'string' ? value.split(',') : value).filter((item) => item !== ''))
