/*
 * Form fields from the JSON Schema of an input. A field of a simple type has a control of its own; the rest is written as JSON. The server
 * checks the input; the form only finds what is missing or is no JSON.
 */

export type FieldKind = 'line' | 'text' | 'number' | 'choice' | 'switch' | 'lines' | 'json'

export interface InputField {
  name: string
  kind: FieldKind
  required: boolean
  description: string
  choices: readonly string[]
  /** As it is shown in an empty field. */
  standard: string
}

interface SchemaNode {
  type?: unknown
  enum?: unknown
  const?: unknown
  items?: unknown
  anyOf?: unknown
  description?: unknown
  default?: unknown
  properties?: unknown
  required?: unknown
}

/** The fields, the main instruction first: the first required text, or the first text of all. */
export function inputFields(schema: unknown): InputField[] {
  const { properties, required } = toNode(schema)
  const names = Array.isArray(required) ? required : []
  const fields = Object.entries(toNode(properties)).map(([name, node]) =>
    toField(name, toNode(node), names.includes(name)),
  )
  const main =
    fields.find(({ kind, required: needed }) => kind === 'line' && needed) ?? fields.find(({ kind }) => kind === 'line')
  if (main === undefined) return [...fields].sort(requiredFirst)
  return [{ ...main, kind: 'text' }, ...fields.filter((field) => field !== main).sort(requiredFirst)]
}

function requiredFirst(left: InputField, right: InputField): number {
  return Number(right.required) - Number(left.required)
}

function toField(name: string, node: SchemaNode, required: boolean): InputField {
  const choices = Array.isArray(node.enum) ? node.enum.filter((each) => typeof each === 'string') : []
  return {
    name,
    kind: fieldKind(node, choices.length > 0),
    required,
    description: typeof node.description === 'string' ? node.description : '',
    choices,
    standard:
      node.default === undefined ? '' : typeof node.default === 'string' ? node.default : JSON.stringify(node.default),
  }
}

function fieldKind({ type, items }: SchemaNode, hasChoices: boolean): FieldKind {
  if (hasChoices) return 'choice'
  if (type === 'string') return 'line'
  if (type === 'number' || type === 'integer') return 'number'
  if (type === 'boolean') return 'switch'
  return type === 'array' && toNode(items).type === 'string' ? 'lines' : 'json'
}

function toNode(value: unknown): SchemaNode & Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

export type FieldTexts = Readonly<Record<string, string>>

/** The input, or what is wrong with which field. Empty optional fields are left out. */
export function readInput(
  fields: readonly InputField[],
  texts: FieldTexts,
): { input: Record<string, unknown> } | { problems: Record<string, string> } {
  const input: Record<string, unknown> = {}
  const problems: Record<string, string> = {}
  for (const field of fields) {
    const text = texts[field.name] ?? ''
    if (text.trim() === '') {
      if (field.required) problems[field.name] = 'This is needed.'
      continue
    }
    const value = readField(field, text)
    if ('problem' in value) problems[field.name] = value.problem
    else input[field.name] = value.value
  }
  return Object.keys(problems).length > 0 ? { problems } : { input }
}

function readField({ kind }: InputField, text: string): { value: unknown } | { problem: string } {
  switch (kind) {
    case 'number':
      return Number.isFinite(Number(text)) ? { value: Number(text) } : { problem: 'This is not a number.' }
    case 'switch':
      return { value: text === 'true' }
    case 'lines':
      return {
        value: text
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== ''),
      }
    case 'json':
      return readJson(text)
    default:
      return { value: text }
  }
}

function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { problem: `This is not JSON: ${(error as Error).message}` }
  }
}

/** The field that a message of the server is about: the one whose name stands in it as a word, in quotes or as a path. */
export function fieldInMessage(fields: readonly InputField[], message: string): string | null {
  const named = fields.filter(({ name }) => new RegExp(`(^|[^\\w])${escapePattern(name)}([^\\w]|$)`).test(message))
  const quoted = named.find(
    ({ name }) => message.includes(`\`${name}`) || message.includes(`'${name}`) || message.includes(`"${name}`),
  )
  return (quoted ?? named[0])?.name ?? null
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
