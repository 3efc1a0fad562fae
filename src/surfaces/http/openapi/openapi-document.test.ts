import { describe, expect, test } from 'vitest'
import { startTestServer } from '../../../../test/support/http-harness.ts'
import * as z from '../../../schema/zod.ts'
import { apiRoutes } from '../routes/api-routes.ts'
import type { OpenApiDocument } from './openapi-document.ts'

/* The structure that OpenAPI 3.1 requires of the parts that this document uses; a field that it does not define is an error. */
const jsonSchema = z.record(z.string(), z.unknown())
const content = z.record(z.string().regex(/^[\w-]+\/[\w.+-]+$/), z.strictObject({ schema: jsonSchema }))
const parameter = z.strictObject({
  name: z.string().min(1),
  in: z.enum(['path', 'query', 'header']),
  required: z.boolean(),
  description: z.string().optional(),
  schema: jsonSchema,
})
const operation = z.strictObject({
  operationId: z.string().regex(/^[A-Za-z][\w-]*$/),
  summary: z.string().min(1),
  description: z.string(),
  tags: z.array(z.string()).min(1),
  parameters: z.array(parameter),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z.record(
    z.string().regex(/^([1-5]\d\d|default)$/),
    z.strictObject({ description: z.string(), content: content.optional() }),
  ),
})
const method = z.enum(['get', 'post', 'delete'])
const document = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
  servers: z.array(z.strictObject({ url: z.string() })),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  paths: z.record(z.string().regex(/^\/[\w{}/.-]*$/), z.record(method, operation.optional())),
  components: z.strictObject({
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.enum(['http', 'apiKey']) })),
    schemas: z.record(z.string(), jsonSchema),
  }),
})

async function readDocument() {
  const server = await startTestServer({
    troupe: { team: { teams: [{ name: 'Desk', agents: [{ name: 'writer' }], handoffs: [] }] } },
  })
  return { server, api: (await server.call('/api/openapi.json')).json as OpenApiDocument }
}

const operationsOf = ({ paths }: OpenApiDocument) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, described]) => ({ path, method: name.toUpperCase(), ...described })),
  )

/** The values of a keyword anywhere in a document. */
function valuesOf(keyword: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => [
    ...(name === keyword ? [item] : []),
    ...valuesOf(keyword, item),
  ])
}

describe('the OpenAPI document', () => {
  test('HS22 it is a valid OpenAPI 3.1 document', async () => {
    const { api } = await readDocument()
    const parsed = document.safeParse(api)
    expect(parsed.error?.issues ?? []).toEqual([])
    const operations = operationsOf(api)
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, parameters, method: name, requestBody } of operations) {
      const declared = parameters.filter((each) => each.in === 'path').map((each) => each.name)
      expect([path, declared]).toEqual([path, [...path.matchAll(/\{(\w+)\}/g)].map(([, each]) => each)])
      expect([path, requestBody !== undefined]).toEqual([path, name !== 'GET'])
    }
    const own = Object.keys(api.components.schemas).map((name) => `#/components/schemas/${name}`)
    for (const reference of valuesOf('$ref', api)) expect(own).toContain(reference)
    for (const scheme of api.security.flatMap((each) => Object.keys(each)))
      expect(api.components.securitySchemes).toHaveProperty(scheme)
  })

  test('HS22 every route is in it, and every documented operation answers', async () => {
    const { server, api } = await readDocument()
    const documented = operationsOf(api)
    const names = (await server.troupe.patterns()).filter(({ only }) => only !== 'tool').map(({ name }) => name)
    const expected = apiRoutes.flatMap(({ path, method: name }) =>
      path.startsWith('/api/patterns/:pattern')
        ? names.map((pattern) => `${name} ${path.replace(':pattern', pattern)}`)
        : [`${name} ${path.replaceAll(/:(\w+)/g, '{$1}')}`],
    )
    const found = documented.map(({ path, method: name }) => `${name} ${path}`)
    expect(found).toEqual(expect.arrayContaining([...expected, 'GET /api/openapi.json']))
    for (const { path, method: name } of documented) {
      const headers = { authorization: `Bearer ${server.token}`, 'x-troupe-request': '1' }
      const sent = await server.send(path.replaceAll(/\{\w+\}/g, 'x'), {
        method: name,
        headers,
        ...(name === 'GET' ? {} : { body: { odd: 1 } }),
      })
      // A route that does not exist would say so, or that it does not take the method.
      expect([path, name, sent.status]).not.toEqual([path, name, 405])
      expect(sent.text).not.toContain('there is no such route')
      expect(sent.status).toBeLessThan(500)
    }
  })

  test('HS22 every JSON response has a schema with its fields', async () => {
    const { api } = await readDocument()
    for (const { path, method: name, responses } of operationsOf(api)) {
      const schema = responses[200]?.content?.['application/json']?.schema
      if (!schema) continue
      expect([name, path, Object.keys(schema)]).toEqual([name, path, expect.arrayContaining(['type'])])
    }
    const run = api.paths['/api/runs/{run_id}']?.get?.responses[200]?.content?.['application/json']?.schema
    expect(run?.required).toEqual(expect.arrayContaining(['run_id', 'status', 'head', 'running']))
  })

  test('HS22 the input of a pattern is that of a request, without what the operator chooses', async () => {
    const { api } = await readDocument()
    const inputOf = (pattern: string) => {
      const body = api.paths[`/api/patterns/${pattern}/runs`]?.post?.requestBody?.content['application/json']?.schema
      if (!body) throw new Error(`no body of ${pattern}`)
      return (body.properties as { input: { properties: Record<string, unknown> } }).input.properties
    }
    expect(Object.keys(inputOf('task'))).toContain('instruction')
    expect(Object.keys(inputOf('task'))).not.toContain('model')
    expect(inputOf('team').team).toMatchObject({ enum: ['Desk'] })
    expect(api.paths['/api/runs/{run_id}/events']?.get?.responses[200]?.content).toHaveProperty('application/json')
  })
})
