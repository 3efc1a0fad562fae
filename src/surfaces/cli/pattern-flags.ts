import type { Command, Option } from 'commander'
import { z } from 'zod'
import { TroupeError } from '../../errors.ts'
import type { Pattern } from '../../index.ts'

/*
 * The flags of `run PATTERN` are made from the pattern's input schema: texts, numbers, choices and switches become
 * flags, the first required text can also stand by itself, and all else goes through --input.
 */

interface SchemaProperty {
  type?: string
  enum?: string[]
  description?: string
  default?: unknown
  properties?: object
  /** For other patterns, not for people. */
  internal?: boolean
}

interface InputField extends SchemaProperty {
  name: string
  flag: string
  required: boolean
}

/** Flags that mean something for every pattern; a field of the same name is given through --input. */
const RESERVED_FLAGS = [
  'input',
  'model',
  'limit',
  'agents',
  'json',
  'quiet',
  'store',
  'project',
  'record',
  'replay',
  'help',
]

export interface PatternFlags {
  /** Fields that only an input file can give, with what they are. */
  fileOnly: readonly { name: string; words: string; required: boolean }[]
  /** The field that a word without a flag stands for. */
  positional: string | undefined
  /** The input as the command line says it: only what was given. */
  parsedInput(): Record<string, unknown>
}

/** Adds the flags of a pattern to its command. */
export function addPatternFlags(
  command: Command,
  pattern: Pattern,
  make: { option: (flags: string, description: string) => Option; invalid: (message: string) => Error },
): PatternFlags {
  const all = inputFields(pattern)
  const fields = all.filter(({ name }) => !RESERVED_FLAGS.includes(name))
  const positional = fields.find((field) => field.required && field.type === 'string')?.name
  const byAttribute = new Map<string, string>()
  if (positional !== undefined) command.argument(`[${positional}...]`, descriptionFor(fields, positional))
  for (const field of fields) {
    const option = optionFor(field, make)
    if (!option) continue
    byAttribute.set(option.attributeName(), field.name)
    command.addOption(option)
  }
  const flagged = new Set(byAttribute.values())
  return {
    fileOnly: all
      .filter(({ name }) => !flagged.has(name))
      .map((field) => ({ name: field.name, words: fieldDescription(field), required: field.required })),
    positional,
    parsedInput() {
      const input: Record<string, unknown> = {}
      if (command.args.length > 0 && positional !== undefined) input[positional] = command.args.join(' ')
      for (const [attribute, name] of byAttribute) {
        // A switch that is on by default has a value without being given; it must not win over the input file.
        if (command.getOptionValueSource(attribute) === 'cli') input[name] = command.getOptionValue(attribute)
      }
      return input
    },
  }
}

function inputFields(pattern: Pattern): InputField[] {
  const schema = z.toJSONSchema(pattern.input, { io: 'input', unrepresentable: 'any' })
  const properties = (schema.properties ?? {}) as Record<string, SchemaProperty>
  const required = schema.required ?? []
  return Object.entries(properties)
    .filter(([, { internal }]) => !internal)
    .map(([name, property]) => ({
      ...property,
      name,
      flag: name.replaceAll('_', '-'),
      required: required.includes(name),
    }))
}

/** What a field is, with the keys of an object that is not described as a whole. */
function fieldDescription({ description, properties, required }: InputField): string {
  const keys = Object.keys(properties ?? {}).join(', ')
  const words = description ?? (keys === '' ? '' : `{${keys}}`)
  return required ? `Required. ${words}` : words
}

function descriptionFor(fields: readonly InputField[], name: string): string {
  return fields.find((field) => field.name === name)?.description ?? ''
}

function optionFor(field: InputField, make: Parameters<typeof addPatternFlags>[2]): Option | undefined {
  const { flag, type, default: preset } = field
  const words = [
    field.description ?? '',
    ...(preset === undefined || preset === false ? [] : [`(default: ${String(preset)})`]),
  ].join(' ')
  if (type === 'boolean' && preset === true) {
    return make.option(`--no-${flag}`, `Turns off what is on by default: ${field.description ?? flag}`)
  }
  if (type === 'boolean') return make.option(`--${flag}`, words)
  if (field.enum?.every((value) => typeof value === 'string')) {
    return make.option(`--${flag} <choice>`, words).choices(field.enum)
  }
  if (type === 'string') return make.option(`--${flag} <text>`, words)
  if (type !== 'number' && type !== 'integer') return undefined
  return make.option(`--${flag} <number>`, words).argParser((text: string) => {
    if (text.trim() === '' || !Number.isFinite(Number(text))) throw make.invalid('It is not a number.')
    return Number(text)
  })
}

/** `--session_id` is `--session-id`: schemas write names one way, command lines the other. */
export function normalizeFlags(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, index) => {
    if (end >= 0 && index >= end) return word
    const [, name, rest = ''] = /^--([a-z]+(?:_[a-z]+)+)(=.*)?$/s.exec(word) ?? []
    return name === undefined ? word : `--${name.replaceAll('_', '-')}${rest}`
  })
}

/** The input in a file, or on stdin for `-`: JSON or YAML. */
export async function readInputFile(path: string): Promise<Record<string, unknown>> {
  const { readFile } = await import('node:fs/promises')
  const name = path === '-' ? 'the input on stdin' : `the input file ${path}`
  let text: string
  try {
    text = path === '-' ? await readStdin() : await readFile(path, 'utf8')
  } catch (thrown) {
    throw invalidInput(`${name} cannot be read: ${(thrown as Error).message}`, thrown, 'check the path')
  }
  const value = await parseInput(text.replace(/^\uFEFF/, ''), path, name)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw invalidInput(`${name} holds ${Array.isArray(value) ? 'a list' : 'no fields'}, not an object`)
}

async function parseInput(text: string, path: string, name: string): Promise<unknown> {
  try {
    if (path.endsWith('.json')) return JSON.parse(text)
    return (await import('yaml')).parse(text)
  } catch (thrown) {
    const [first = ''] = (thrown as Error).message.split('\n')
    const kind = path.endsWith('.json') ? 'JSON' : 'JSON or YAML'
    throw invalidInput(`${name} is not ${kind}: ${first.replace(/:$/, '')}`, thrown)
  }
}

const FIELDS_HINT = 'write an object with the fields that troupe run PATTERN --help shows'

function invalidInput(message: string, cause?: unknown, hint = FIELDS_HINT): TroupeError {
  return new TroupeError('invalid_input', message, { hint, cause })
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
