import { Command, InvalidArgumentError, Option } from 'commander'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { expectLinearTime } from '../../../test/support/linear-time.ts'
import { definePattern } from '../../entries/patterns.ts'
import { toJsonSchema } from '../../schema/schema.ts'
import { addPatternFlags, normalizeFlags } from './pattern-flags.ts'

const pattern = definePattern({
  name: 'survey',
  description: 'Ask around.',
  version: 1,
  category: 'planning',
  delegation: { self: 'count', cycles: 'refuse' },
  input: z.strictObject({
    question: z.string(),
    max_agents: z.int().default(5),
    mode: z.enum(['quick', 'deep']).default('quick'),
    topics: z.array(z.enum(['cost', 'safety'])).optional(),
    strict: z.boolean().default(false),
    explain: z.boolean().default(true).describe('Say why.'),
    model: z.string().optional(),
    agents: z.array(z.string()).describe('Who is asked.'),
    limits: z.strictObject({ calls: z.int(), time: z.int() }).partial().optional(),
  }),
  output: z.object({}),
  execute: async () => ({ success: true }),
})

const make = {
  option: (flags: string, description: string) => new Option(flags, description),
  invalid: (message: string) => new InvalidArgumentError(message),
}

function parseFlags(...argv: string[]): Promise<Record<string, unknown>> {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  const flags = addPatternFlags(command, toJsonSchema(pattern.input), make)
  command.parse(normalizeFlags(argv), { from: 'user' })
  return flags.parsedInput()
}

describe('flags of a pattern', () => {
  test('L6 strings, numbers, enums and booleans become flags; the first required string is positional', async () => {
    expect(
      await parseFlags('how', 'is', 'it', '--max-agents', '3', '--mode', 'deep', '--strict', '--no-explain'),
    ).toEqual({
      question: 'how is it',
      max_agents: 3,
      mode: 'deep',
      strict: true,
      explain: false,
    })
  })

  test('L6 only the parseFlags fields are returned', async () => {
    expect(await parseFlags('--question', 'why?')).toEqual({ question: 'why?' })
  })

  test('L6 a flag can be written with underscores, as in the schema', async () => {
    expect(await parseFlags('--max_agents=4', '--', '--max_agents')).toMatchObject({
      max_agents: 4,
      question: '--max_agents',
    })
  })

  test('L6 an invalid number and an unknown choice are rejected', () => {
    expect(() => parseFlags('--max-agents', 'many')).toThrow(/Expected a number/)
    expect(() => parseFlags('--mode', 'slow')).toThrow(/quick, deep/)
  })

  test('L33 fields without a flag are listed, and a boolean that defaults to true becomes --no-NAME', () => {
    const command = new Command()
    const { fileOnly } = addPatternFlags(command, toJsonSchema(pattern.input), make)
    expect(fileOnly).toEqual([
      { name: 'model', description: '', required: false },
      { name: 'agents', description: 'Required. Who is asked.', required: true },
      { name: 'limits', description: '{calls, time}', required: false },
    ])
    expect(command.helpInformation()).toMatch(/--no-explain\s+Disable \(on by\s+default\): Say why\./)
  })

  test('L33 the help of an object shows no default', () => {
    const command = new Command()
    addPatternFlags(command, { type: 'object', properties: { values: { type: 'object', default: {} } } }, make)
    expect(command.helpInformation()).toContain('--values <file>')
    expect(command.helpInformation()).not.toContain('default:')
  })

  test('L6 a list of enum values is separated by commas', async () => {
    expect(await parseFlags('--topics', 'safety, cost,safety')).toEqual({ topics: ['safety', 'cost'] })
    expect(() => parseFlags('--topics', 'cost,speed')).toThrow(/'speed' is none of cost, safety/)
    expect(() => parseFlags('--topics', '')).toThrow(/'' is none of cost, safety/)
  })

  test('L6 other lists and reserved names do not become flags', () => {
    expect(() => parseFlags('--agents', 'a')).toThrow(/unknown option/)
    expect(() => parseFlags('--model', 'a')).toThrow(/unknown option/)
    const reserved = z.strictObject({ sandbox: z.boolean().default(true), allow_host: z.string(), version: z.string() })
    const { fileOnly, positional } = addPatternFlags(new Command(), toJsonSchema(reserved), make)
    expect([positional, ...fileOnly.map(({ name }) => name)]).toEqual([undefined, 'sandbox', 'allow_host', 'version'])
  })
})

test('hostile words of any length stay as they are, in linear time', async () => {
  const words = (length: number) => [
    `--${'a_'.repeat(length / 2)}`,
    `--a${'_a'.repeat(length / 2)}!`,
    `--${'a'.repeat(length)}!`,
  ]
  expect(normalizeFlags(words(4_000_000))).toEqual(words(4_000_000))
  await expectLinearTime((length) => normalizeFlags(words(length)), 4_000_000)
})
