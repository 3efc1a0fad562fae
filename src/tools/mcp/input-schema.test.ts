import { expect, test } from 'vitest'
import { createMcpHarness, TEST_AGENT } from '../../../test/support/mcp-harness.ts'
import { createTestServer } from '../../../test/support/mcp-test-server.ts'
import { toJsonSchema } from '../../schema/schema.ts'
import { parseInputSchema } from './input-schema.ts'

test('MC48 a property with a default may be left out, and a server that requires it gets the default', async () => {
  const size = { type: 'object', properties: { unit: { default: 'px' }, width: {} }, required: ['unit', 'width'] }
  const properties = {
    scale: { enum: ['css', 'device'], default: 'css' },
    text: { type: 'string' },
    size,
    other: { default: 1 },
  }
  const inputSchema = { type: 'object', properties, required: ['scale', 'text'] }
  const server = createTestServer({ tools: [{ name: 'arguments', inputSchema }] })
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  const { input } = mcp.tools.get('mcp__s__arguments') ?? {}
  expect(input && toJsonSchema(input)).toMatchObject({
    required: ['text'],
    properties: { size: { required: ['width'] } },
  })
  const sent = async (args: object) => JSON.parse(String((await call('mcp__s__arguments', args)).output))
  expect(await sent({ text: 'a' })).toEqual({ text: 'a', scale: 'css' })
  expect(await sent({ text: 'a', scale: 'device', size: { width: 1 } })).toEqual({
    text: 'a',
    scale: 'device',
    size: { width: 1, unit: 'px' },
  })
  await expect(call('mcp__s__arguments', {})).rejects.toThrow("required property 'text'")
})

test('MC49 alternatives at the root become one object; the arguments have to match the original', async () => {
  const circle = { properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['kind', 'r'] }
  const square = { properties: { kind: { const: 'square' }, a: { type: 'number' } }, required: ['kind', 'a'] }
  const inputSchema = { type: 'object', oneOf: [{ $ref: '#/$defs/circle' }, square], $defs: { circle } }
  expect(parseInputSchema(inputSchema).shown).toEqual({
    type: 'object',
    properties: { kind: { enum: ['circle', 'square'] }, r: { type: 'number' }, a: { type: 'number' } },
    required: ['kind'],
    $defs: { circle },
  })
  const server = createTestServer({ tools: [{ name: 'arguments', inputSchema }] })
  const { mcp, call } = createMcpHarness({ s: server.config })
  await mcp.prepare(TEST_AGENT)
  expect(await call('mcp__s__arguments', { kind: 'circle', r: 2 })).toMatchObject({ output: '{"kind":"circle","r":2}' })
  await expect(call('mcp__s__arguments', { kind: 'circle', a: 2 })).rejects.toThrow('do not match its schema')
})

test('MC49 `allOf` at the root is merged, `anyOf` of required names is left to the validation', () => {
  const { shown } = parseInputSchema({
    properties: { path: { type: 'string' }, url: { type: 'string' } },
    anyOf: [{ required: ['path'] }, { required: ['url'] }],
    allOf: [
      { type: 'object', properties: { url: { type: 'string' }, depth: { type: 'integer' } }, required: ['depth'] },
    ],
    not: { required: ['path', 'url'] },
  })
  expect(shown).toEqual({
    type: 'object',
    properties: { path: { type: 'string' }, url: { type: 'string' }, depth: { type: 'integer' } },
    required: ['depth'],
  })
})

test('MC49 a root that is no object is a reason to skip the tool', () => {
  for (const branch of [{ type: 'string' }, { $ref: 'https://example.com/a.json' }, { anyOf: [{ type: 'object' }] }, 7])
    expect(() => parseInputSchema({ anyOf: [branch, { type: 'object' }] })).toThrow(
      '`anyOf` at the root of `inputSchema` cannot be shown as one object',
    )
})
