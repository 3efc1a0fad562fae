import { Command, InvalidArgumentError, Option } from 'commander'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definePattern } from '../../index.ts'
import { addPatternFlags, normalizeFlags } from './pattern-flags.ts'

const pattern = definePattern({
  name: 'survey',
  description: 'Ask around.',
  version: 1,
  category: 'planning',
  delegates: true,
  input: z.strictObject({
    question: z.string(),
    max_agents: z.int().default(5),
    mode: z.enum(['quick', 'deep']).default('quick'),
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

function given(...argv: string[]): Record<string, unknown> {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} })
  const flags = addPatternFlags(command, pattern, make)
  command.parse(normalizeFlags(argv), { from: 'user' })
  return flags.parsedInput()
}

describe('flags from a schema', () => {
  test('L6 texts, numbers, choices and switches are flags; the first required text needs none', () => {
    expect(given('how', 'is', 'it', '--max-agents', '3', '--mode', 'deep', '--strict', '--no-explain')).toEqual({
      question: 'how is it',
      max_agents: 3,
      mode: 'deep',
      strict: true,
      explain: false,
    })
  })

  test('L6 what is not given is left to the input file and the schema', () => {
    expect(given('--question', 'why?')).toEqual({ question: 'why?' })
  })

  test('L6 a field may be spelled as the schema spells it', () => {
    expect(given('--max_agents=4', '--', '--max_agents')).toMatchObject({ max_agents: 4, question: '--max_agents' })
  })

  test('L6 a number that is none and a choice that is not offered are refused', () => {
    expect(() => given('--max-agents', 'many')).toThrow(/not a number/)
    expect(() => given('--mode', 'slow')).toThrow(/quick, deep/)
  })

  test('L33 what only an input file can give is listed, and a switch that is on says what it turns off', () => {
    const command = new Command()
    const { fileOnly } = addPatternFlags(command, pattern, make)
    expect(fileOnly).toEqual([
      { name: 'model', words: '', required: false },
      { name: 'agents', words: 'Required. Who is asked.', required: true },
      { name: 'limits', words: '{calls, time}', required: false },
    ])
    expect(command.helpInformation()).toMatch(/--no-explain\s+Turns off what is on by\s+default: Say why\./)
  })

  test('L6 lists, and names that mean something for every pattern, are no flags', () => {
    expect(() => given('--agents', 'a')).toThrow(/unknown option/)
    expect(() => given('--model', 'a')).toThrow(/unknown option/)
  })
})
