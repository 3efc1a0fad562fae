import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { JsonSchema } from '../../src/index.ts'
import { createTroupe } from '../../src/index.ts'
import { compileSchema } from '../../src/schema/schema.ts'
import { recordRequest, scenarios } from './request-scenarios.ts'
import type { WireRequest } from './wire-recorder.ts'
import { createWireRecorder } from './wire-recorder.ts'

/*
 * The schemas and examples of structured answers, as they go over the wire. Every provider has to accept them in strict mode,
 * and none may depend on bounds, which most servers ignore.
 */

/** Scenarios whose schema comes from the user of Troupe. */
const FROM_USER = ['task-repair']
/** The value of a variable has the type that the team declares: one schema for all members keeps the prompt cache. */
const ANY_VALUE = '$.properties.variables.items.properties.value'
/** Their examples name none of the choices that the schema lists. */
const WITHOUT_CHOICES = ['specialist-categories', 'consult-routing']
const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'format', 'default']

interface SchemaNode {
  type?: string | string[]
  properties?: Record<string, SchemaNode>
  required?: string[]
  additionalProperties?: unknown
  items?: SchemaNode
  [keyword: string]: unknown
}

/** Everything in a schema that is not strict, with its path. */
function looseParts(node: SchemaNode, path = '$'): string[] {
  const { type, properties, required = [], additionalProperties, items, ...rest } = node
  const types = [type ?? []].flat()
  const unions = ['anyOf', 'oneOf', 'allOf', ...BOUNDS].filter((keyword) => keyword in rest)
  const forms = types.filter((each) => each !== 'null')
  const isOpen = types.includes('object') && additionalProperties !== false
  return [
    ...unions.map((keyword) => `${path} has ${keyword}`),
    ...(forms.length === 1 || path === ANY_VALUE ? [] : [`${path} has ${forms.length} types`]),
    ...(isOpen ? [`${path} is open`] : []),
    ...Object.keys(properties ?? {})
      .filter((name) => !required.includes(name))
      .map((name) => `${path}.${name} is optional`),
    ...Object.entries(properties ?? {}).flatMap(([name, child]) => looseParts(child, `${path}.properties.${name}`)),
    ...(items ? looseParts(items, `${path}.items`) : []),
  ]
}

interface ResponseFormat {
  json_schema: { schema: JsonSchema & SchemaNode; strict: boolean }
}

function lastUserText({ messages }: WireRequest): string {
  return String(messages.findLast(({ role }) => role === 'user')?.content)
}

// The first request of a build takes git and a worktree.
describe.each(Object.keys(scenarios).filter((kind) => !FROM_USER.includes(kind)))('the request %s', (kind) => {
  test('has a strict schema, if it asks for structured output', async () => {
    const { response_format } = (await recordRequest(kind)) as { response_format?: ResponseFormat }
    if (!response_format) return
    expect(looseParts(response_format.json_schema.schema)).toEqual([])
    expect(response_format.json_schema.strict).toBe(true)
  })

  test('has an example that is valid JSON and matches the schema, if it has one', async () => {
    const request = await recordRequest(kind)
    const [, example] = /for example:\n(.*)/i.exec(lastUserText(request)) ?? []
    if (example === undefined) return
    const { json_schema } = request.response_format as ResponseFormat
    const schema = WITHOUT_CHOICES.includes(kind) ? withoutChoices(json_schema.schema) : json_schema.schema
    expect(compileSchema(schema).validate(JSON.parse(example))).toMatchObject({ ok: true })
  })
})

/** The example names no choice: models that copy it would choose it. */
function withoutChoices(schema: SchemaNode): JsonSchema {
  const { enum: _choices, items, properties, ...rest } = schema
  const open = Object.entries(properties ?? {}).map(([name, child]) => [name, withoutChoices(child)])
  return {
    ...rest,
    ...(items ? { items: withoutChoices(items) } : undefined),
    ...(properties ? { properties: Object.fromEntries(open) } : undefined),
  }
}

test('the walk finds every loose part', () => {
  const loose: SchemaNode = {
    type: 'object',
    properties: {
      a: { type: 'integer', maximum: 9007199254740991 },
      b: { anyOf: [] },
      c: { type: ['string', 'number'] },
    },
    required: ['b', 'c'],
  }
  expect(looseParts(loose)).toEqual([
    '$ is open',
    '$.a is optional',
    '$.properties.a has maximum',
    '$.properties.b has anyOf',
    '$.properties.b has 0 types',
    '$.properties.c has 2 types',
  ])
})

test('the schemas of tools have no bounds of safe integers', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-schemas-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const model = createWireRecorder({})
  const options = { store: 'memory', embedder: false, config: false, model, workspace: { workspace: folder } } as const
  const troupe = await createTroupe(options)
  onTestFinished(() => troupe.close())
  await troupe.run('task', { agent: 'default', instruction: 'Say hello.' })
  const { tools = [] } = model.requestOf('default')
  expect(tools.map(({ function: { name } }) => name)).toEqual(expect.arrayContaining(['Read', 'Bash', 'task']))
  expect(JSON.stringify(tools)).not.toContain('9007199254740991')
})
