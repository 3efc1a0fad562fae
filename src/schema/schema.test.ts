import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { chunkModel, chunksByTurn, textChunks, toolCallChunks } from '../../test/support/manual-doubles.ts'
import { agent, createTestTroupe, lastMessageText, runToEnd } from '../../test/support/test-troupe.ts'
import { definePattern } from '../kernel/pattern.ts'
import type { Tool, ToolCategory } from '../kernel/tool.ts'
import { createTroupe } from '../runtime/troupe.ts'
import { defineTool } from '../tools/define-tool.ts'
import { compileSchema, formatIssues } from './schema.ts'
import type { JsonSchema, Schema, SchemaInput, SchemaOutput } from './standard-schema.ts'

const entry = z.union([z.string().min(1), z.strictObject({ name: z.string(), size: z.int().optional() })])
const schema = z.strictObject({ entries: z.array(entry), mode: z.enum(['a', 'b']).optional() })

function issuesFor(input: unknown): string {
  const { error } = schema.safeParse(input)
  return error ? formatIssues(error) : ''
}

test('L33 an input that matches no branch of a union is reported for the nearest branch', () => {
  expect(issuesFor({ entries: [{ size: 1 }] })).toBe('entries.0.name is missing')
  expect(issuesFor({ entries: ['x', { name: 'x', sise: 1 }] })).toBe('entries.1: Unrecognized key: "sise"')
  expect(issuesFor({ entries: [{ name: 'x', size: 'big' }] })).toMatch(/^entries\.0\.size: .*expected number/)
})

test('L33 an input far from every branch is reported as invalid', () => {
  expect(issuesFor({ entries: [7] })).toBe('entries.0: Invalid input')
  expect(issuesFor({})).toBe('entries is missing')
})

const LOOKUP = { name: 'lookup', description: 'lookup', category: 'perception' as ToolCategory, kind: 'read' as const }
const found = (city: string, days: number) => ({ success: true, output: `${city} ${days}` })

/** The same tool, with schemas of four kinds. */
const lookups: Readonly<Record<string, () => Tool>> = {
  zod: () =>
    defineTool({
      ...LOOKUP,
      input: z.object({ city: z.string(), days: z.int().default(3) }),
      execute: ({ city, days }) => found(city, days),
    }),
  valibot: () =>
    defineTool({
      ...LOOKUP,
      input: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
      execute: ({ city, days }) => found(city, days),
    }),
  arktype: () =>
    defineTool({
      ...LOOKUP,
      input: type({ city: 'string', days: 'number = 3' }),
      execute: ({ city, days }) => found(city, days),
    }),
  'JSON Schema': () =>
    defineTool({
      ...LOOKUP,
      input: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer', default: 3 } },
        required: ['city'],
      },
      execute(input) {
        const { city, days } = input as { city: string; days: number }
        return found(city, days)
      },
    }),
}

describe('schemas of tools', () => {
  test.each(Object.keys(lookups))(
    'SC1 a tool with a schema of %s is shown to the model and validated',
    async (library) => {
      const model = chunkModel(
        chunksByTurn(
          toolCallChunks({ name: 'lookup', input: { city: 7 } }),
          toolCallChunks({ name: 'lookup', input: { city: 'Rome' } }),
          textChunks('done'),
        ),
      )
      const tool = lookups[library]?.() as Tool
      const { task } = await createTestTroupe({ model, agents: [agent('worker')], tools: [tool] })
      expect((await task('worker', 'go')).status).toBe('completed')
      const shown = model.requests[0]?.tools.find(({ name }) => name === 'lookup')?.input
      expect(shown).toMatchObject({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })
      expect(model.requests[1] && lastMessageText(model.requests[1])).toMatch(/invalid arguments for lookup: city/)
      expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('Rome 3')
    },
  )

  test('SC1 the type of the input comes from the schema; of a JSON Schema it is unknown', () => {
    const schema = z.object({ days: z.int().default(3) })
    expectTypeOf<SchemaInput<typeof schema>>().toEqualTypeOf<{ days?: number | undefined }>()
    expectTypeOf<SchemaOutput<typeof schema>>().toEqualTypeOf<{ days: number }>()
    const arkSchema = type({ city: 'string' })
    expectTypeOf<SchemaOutput<typeof arkSchema>>().toEqualTypeOf<{ city: string }>()
    expectTypeOf<SchemaOutput<{ type: 'object' }>>().toEqualTypeOf<unknown>()
    defineTool({
      ...LOOKUP,
      input: { type: 'object' },
      execute(input) {
        expectTypeOf(input).toBeUnknown()
        return found('', 1)
      },
    })
  })
})

describe('schemas of patterns', () => {
  test('SC1 a pattern with schemas of valibot is typed, shown to the model and validated, its output too', async () => {
    const forecast = definePattern({
      name: 'forecast',
      version: 1,
      description: 'forecasts the weather',
      category: 'planning',
      input: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
      output: toStandardJsonSchema(v.object({ text: v.string() })),
      execute: async (_context, { city, days }) => ({
        success: true,
        output: { text: city === 'Rome' ? `${city} ${days}` : days },
      }),
    })
    const model = chunkModel(
      chunksByTurn(
        toolCallChunks({ name: 'forecast', input: { city: 7 } }),
        toolCallChunks({ name: 'forecast', input: { city: 'Rome' } }),
        textChunks('done'),
      ),
    )
    await using troupe = await createTroupe({
      ...{ store: 'memory', model, agents: [agent('worker')] },
      patterns: [forecast],
    })
    const result = await troupe.run('forecast', { city: 'Rome' })
    expectTypeOf(result.output).toEqualTypeOf<{ text: string } | null>()
    expect(result.output).toEqual({ text: 'Rome 3' })
    // @ts-expect-error `city` is text.
    await expect(troupe.run('forecast', { city: 7 })).rejects.toThrow(/city/)
    const invalid = await runToEnd(troupe, 'forecast', { city: 'Oslo' })
    expect(invalid).toMatchObject({ status: 'failed', error: { code: 'invalid_output' } })
    await troupe.run('task', { agent: 'worker', instruction: 'go' })
    const shown = model.requests[0]?.tools.find(({ name }) => name === 'forecast')?.input
    expect(shown).toMatchObject({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] })
    expect(model.requests[1] && lastMessageText(model.requests[1])).toMatch(/invalid arguments for forecast: city/)
    expect(model.requests[2] && lastMessageText(model.requests[2])).toContain('Rome 3')
  })
})

class JoiLikeSchema {
  validate() {
    return {}
  }
}

describe('schemas that cannot be used', () => {
  const withoutJsonSchema = { '~standard': { version: 1, vendor: 'bare', validate: (value: unknown) => ({ value }) } }
  const unusable: readonly (readonly [string, unknown, RegExp])[] = [
    ['of a library without JSON Schema', withoutJsonSchema, /schema of bare, which gives no JSON Schema/],
    ['of valibot without its converter', v.object({}), /schema of valibot, which gives no JSON Schema/],
    ['of a library without Standard Schema', new JoiLikeSchema(), /unsupported library or type/],
    ['that is missing', undefined, /unsupported library or type/],
    ['that is text', 'string', /unsupported library or type/],
  ]
  const invalidJsonSchemas: readonly (readonly [string, JsonSchema, RegExp])[] = [
    ['with an unknown JSON type', { type: 'strnig' }, /Unsupported type: strnig/],
    ['with an external reference', { $ref: 'https://example.com/s.json' }, /External \$ref is not supported/],
    ['with an invalid regular expression', { type: 'string', pattern: '(' }, /Invalid regular expression/],
  ]

  test.each(unusable)(
    'SC2 a schema %s is rejected, naming the option and the alternatives',
    (_kind, schema, problem) => {
      const define = () => defineTool({ ...LOOKUP, input: schema as Schema, execute: () => ({ success: true }) })
      expect(define).toThrow(problem)
      expect(define).toThrow(/`input` of the tool 'lookup'/)
      expect(define).toThrow(
        expect.objectContaining({ code: 'invalid_input', alternatives: expect.arrayContaining(['zod 4']) }),
      )
    },
  )

  test.each(invalidJsonSchemas)('SC2 a JSON Schema %s is rejected by createTroupe', async (_kind, input, problem) => {
    const tool = defineTool({ ...LOOKUP, input, execute: () => ({ success: true }) })
    const creating = createTestTroupe({ tools: [tool] })
    await expect(creating).rejects.toThrow(problem)
    await expect(creating).rejects.toThrow(/`input` of the tool 'lookup'/)
  })

  test('SC2 a zod schema that JSON Schema cannot describe is rejected when its JSON Schema is read', () => {
    const compiled = compileSchema(z.object({ since: z.date() }), '`input` of the tool lookup')
    expect(() => compiled.jsonSchema).toThrow(/`input` of the tool lookup cannot be used: Date/)
  })

  test('TO85 the JSON Schema of an integer has only the bounds that its schema sets', () => {
    const schema = z.object({ any: z.int(), page: z.int().min(1), list: z.array(z.int().max(9)) })
    expect(JSON.stringify(compileSchema(schema).jsonSchema)).not.toContain('9007199254740991')
    expect(compileSchema(schema).jsonSchema.properties).toMatchObject({
      page: { type: 'integer', minimum: 1 },
      list: { items: { type: 'integer', maximum: 9 } },
    })
    expect(compileSchema(schema).validate({ any: 2 ** 60, page: 1, list: [] }).ok).toBe(false)
  })

  test('SC3 asynchronous validation is rejected', () => {
    const refined = z.object({ city: z.string().refine(async () => true) })
    expect(() => compileSchema(refined, '`input`').validate({ city: 'x' })).toThrow('`input` validates asynchronously')
    const converter = { input: () => ({ type: 'object' }) }
    const standard = {
      version: 1,
      vendor: 'late',
      validate: async (value: unknown) => ({ value }),
      jsonSchema: converter,
    }
    const late = { '~standard': standard } as unknown as Schema
    expect(() => compileSchema(late, '`input`').validate({})).toThrow('`input` validates asynchronously')
  })
})
