import type { Command, Option } from 'commander'
import { TroupeError } from '../../errors.ts'
import type { JsonSchema } from '../../index.ts'
import { collectValues, SHARED_FLAGS } from './shared-options.ts'

/*
 * Derives the flags of `run PATTERN` from the pattern's input schema: strings, numbers, enums, lists of enum values and booleans become flags, objects
 * without fixed fields are read from a file, `attachments` are files (--attach), the first required string is also the positional argument, all other fields need
 * --input.
 */

interface SchemaProperty {
  type?: string
  enum?: string[]
  items?: SchemaProperty
  description?: string
  default?: unknown
  properties?: object
  /** Set only by other patterns. */
  internal?: boolean
}

interface ObjectSchema {
  properties?: Record<string, SchemaProperty>
  required?: readonly string[]
}

interface InputField extends SchemaProperty {
  name: string
  flag: string
  required: boolean
}

/** Flags of the `run` command; a field with the same name needs --input. */
const RESERVED_FLAGS = new Set([
  ...SHARED_FLAGS,
  ...['input', 'attach', 'with', 'tag', 'continue', 'detach', 'help', 'version'],
])

export interface PatternFlags {
  /** Fields without a flag. */
  fileOnly: readonly { name: string; description: string; required: boolean }[]
  /** The field of the positional argument. */
  positional: string | undefined
  /** The fields given on the command line. Files are read. */
  parsedInput(): Promise<Record<string, unknown>>
}

export function addPatternFlags(
  command: Command,
  inputSchema: JsonSchema,
  make: { option: (flags: string, description: string) => Option; invalid: (message: string) => Error },
): PatternFlags {
  const all = inputFields(inputSchema)
  const fields = all.filter(({ flag }) => !RESERVED_FLAGS.has(flag))
  const positional = fields.find((field) => field.required && field.type === 'string')?.name
  const byAttribute = new Map<string, string>()
  if (positional !== undefined) command.argument(`[${positional}...]`, descriptionFor(fields, positional))
  for (const field of fields) {
    const option = optionFor(field, make)
    if (!option) continue
    byAttribute.set(option.attributeName(), field.name)
    command.addOption(option)
  }
  const takesAttachments = all.some(({ name }) => name === 'attachments')
  if (takesAttachments) {
    const description = 'attach an image, a PDF or a text file to the message; repeatable'
    command.addOption(make.option('--attach <file>', description).argParser(collectValues))
  }
  const takesAgents = all.some(({ name, type }) => name === 'agents' && type === 'array')
  if (takesAgents) {
    const description = 'agents of the roster that take part, separated by commas'
    command.addOption(make.option('--with <names>', description))
  }
  const flagged = new Set([...byAttribute.values(), 'attachments'])
  return {
    fileOnly: all
      .filter(({ name }) => !flagged.has(name))
      .map((field) => ({ name: field.name, description: fieldDescription(field), required: field.required })),
    positional,
    async parsedInput() {
      const input: Record<string, unknown> = {}
      const attached = command.getOptionValue('attach') as string[] | undefined
      if (takesAttachments && attached) {
        const { readAttachment } = await import('../../index.ts')
        input.attachments = await Promise.all(attached.map(readAttachment))
      }
      const names = command.getOptionValue('with') as string | undefined
      if (takesAgents && names !== undefined) input.agents = parseNames(names)
      if (command.args.length > 0 && positional !== undefined) input[positional] = command.args.join(' ')
      for (const [attribute, name] of byAttribute) {
        // A boolean that defaults to true has a value without being given; it must not override the input file.
        if (command.getOptionValueSource(attribute) !== 'cli') continue
        const value: unknown = command.getOptionValue(attribute)
        const isFile = fields.some((field) => field.name === name && isFreeObject(field))
        input[name] = isFile ? await readObjectFile(String(value), `--${name.replaceAll('_', '-')}`) : value
      }
      return input
    },
  }
}

/** The agents that take part; `--agents` is the folder of agent files. */
function parseNames(list: string): string[] {
  const names = list.split(',').map((name) => name.trim())
  if (names.includes('')) {
    throw new TroupeError('invalid_input', `option --with '${list}' has an empty name`, {
      hint: 'separate the names by single commas: --with architect,reviewer',
    })
  }
  return names
}

function inputFields(inputSchema: JsonSchema): InputField[] {
  const { properties = {}, required = [] } = inputSchema as ObjectSchema
  return Object.entries(properties)
    .filter(([, { internal }]) => !internal)
    .map(([name, property]) => ({
      ...property,
      name,
      flag: name.replaceAll('_', '-'),
      required: required.includes(name),
    }))
}

/** The description, or the keys of an object without one. */
function fieldDescription({ description, properties, required }: InputField): string {
  const keys = Object.keys(properties ?? {}).join(', ')
  const text = description ?? (keys === '' ? '' : `{${keys}}`)
  return required ? `Required. ${text}` : text
}

function descriptionFor(fields: readonly InputField[], name: string): string {
  return fields.find((field) => field.name === name)?.description ?? ''
}

function optionFor(field: InputField, make: Parameters<typeof addPatternFlags>[2]): Option | undefined {
  const { flag, type, default: preset } = field
  const description = [
    field.description ?? '',
    ...(preset === undefined || preset === false || isFreeObject(field) ? [] : [`(default: ${String(preset)})`]),
  ].join(' ')
  if (type === 'boolean' && preset === true) {
    return make.option(`--no-${flag}`, `Disable (on by default): ${field.description ?? flag}`)
  }
  if (type === 'boolean') return make.option(`--${flag}`, description)
  if (field.enum?.every((value) => typeof value === 'string')) {
    return make.option(`--${flag} <choice>`, description).choices(field.enum)
  }
  const choices = type === 'array' ? field.items?.enum : undefined
  if (choices) return listOption(make, { flag, description, choices })
  if (type === 'string') return make.option(`--${flag} <text>`, description)
  if (isFreeObject(field)) return make.option(`--${flag} <file>`, `${description} (JSON or YAML file)`)
  if (type !== 'number' && type !== 'integer') return undefined
  return make.option(`--${flag} <number>`, description).argParser((text: string) => {
    if (text.trim() === '' || !Number.isFinite(Number(text))) throw make.invalid('Expected a number.')
    return Number(text)
  })
}

/** A list of values from a closed set, separated by commas. */
function listOption(
  make: Parameters<typeof addPatternFlags>[2],
  { flag, description, choices }: { flag: string; description: string; choices: readonly string[] },
): Option {
  const known = choices.join(', ')
  return make.option(`--${flag} <list>`, `${description} Separated by commas: ${known}.`).argParser((text: string) => {
    const values = text.split(',').map((value) => value.trim())
    const unknown = values.find((value) => !choices.includes(value))
    if (unknown !== undefined) throw make.invalid(`'${unknown}' is none of ${known}.`)
    return [...new Set(values)]
  })
}

/** An object whose fields are not fixed, such as a JSON Schema. */
function isFreeObject({ type, properties }: SchemaProperty): boolean {
  return type === 'object' && properties === undefined
}

/** Accepts the schema's spelling: `--session_id` becomes `--session-id`. */
export function normalizeFlags(argv: readonly string[]): string[] {
  const end = argv.indexOf('--')
  return argv.map((word, index) => {
    if (end >= 0 && index >= end) return word
    const [name = ''] = word.split('=', 1)
    const isSchemaSpelling = /^--[a-z][a-z_]*[a-z]$/.test(name) && !name.includes('__')
    return isSchemaSpelling ? name.replaceAll('_', '-') + word.slice(name.length) : word
  })
}

/** Reads JSON or YAML from a file, or from stdin for `-`. */
export async function readObjectFile(path: string, flag: string): Promise<Record<string, unknown>> {
  const { readFile } = await import('node:fs/promises')
  const source = `${flag} ${path}`
  let text: string
  try {
    text = path === '-' ? await readStdin() : await readFile(path, 'utf8')
  } catch (thrown) {
    throw invalidInput(`${source} cannot be read: ${(thrown as Error).message}`, thrown, 'check the path')
  }
  const value = await parseInput(text.replace(/^\uFEFF/, ''), { path, source })
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw invalidInput(`${source} must contain an object, not ${Array.isArray(value) ? 'a list' : 'a single value'}`)
}

async function parseInput(text: string, { path, source }: { path: string; source: string }): Promise<unknown> {
  try {
    if (path.endsWith('.json')) return JSON.parse(text)
    const [{ parse }, { safeYamlOptions }] = await Promise.all([import('yaml'), import('../../formats/yaml-limits.ts')])
    return parse(text, safeYamlOptions())
  } catch (thrown) {
    const [first = ''] = (thrown as Error).message.split('\n')
    const kind = path.endsWith('.json') ? 'JSON' : 'JSON or YAML'
    throw invalidInput(`${source} is not valid ${kind}: ${first.replace(/:$/, '')}`, thrown)
  }
}

const FIELDS_HINT = 'write an object with the fields listed by: troupe run PATTERN --help'

function invalidInput(message: string, cause?: unknown, hint = FIELDS_HINT): TroupeError {
  return new TroupeError('invalid_input', message, { hint, cause })
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
