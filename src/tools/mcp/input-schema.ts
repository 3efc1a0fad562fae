import { isRecord } from '../../schema/json-value.ts'
import type { JsonSchema } from '../../schema/standard-schema.ts'

/*
 * The input schema of a server's tool, as written by many different libraries.
 * 1. A property with a `default` is not required: some libraries list it in `required` all the same. The model may leave it out;
 *    the default is filled in before the call, so that a server that takes its schema literally gets it.
 * 2. Model providers reject `oneOf`, `anyOf` and `allOf` at the root, and with them every request of the session. The model sees one
 *    object with all properties; the arguments are still validated against the original.
 */

const MAX_SCHEMA_CHARS = 64 * 1024
const MAX_DEPTH = 32

export interface InputSchema {
  /** For the model: an object schema without combinators at its root. */
  shown: JsonSchema
  /** For the validation of arguments. */
  validated: JsonSchema
  /** As the server wrote it. */
  original: JsonSchema
}

/** Parses the `inputSchema` of a tool. Throws with the reason when no model provider would accept it. */
export function parseInputSchema(value: unknown): InputSchema {
  if (value === undefined) throw new Error('it has no `inputSchema`')
  if (!isRecord(value)) throw new Error('`inputSchema` is not an object')
  const size = JSON.stringify(value).length
  if (size > MAX_SCHEMA_CHARS)
    throw new Error(`\`inputSchema\` has ${size} characters; the maximum is ${MAX_SCHEMA_CHARS}`)
  const { type = 'object', ...rest } = value
  if (type !== 'object') throw new Error(`\`inputSchema.type\` must be "object", not ${JSON.stringify(type)}`)
  const validated: JsonSchema = withOptionalDefaults({ type, ...rest })
  return { shown: foldRoot(validated), validated, original: value }
}

/** Copies an object schema at any depth of `properties`, `items` and the combinators, with defaults taken out of `required`. */
function withOptionalDefaults(schema: JsonSchema, depth = 0): JsonSchema {
  if (depth > MAX_DEPTH) return schema
  const inner = (value: unknown) => (isRecord(value) ? withOptionalDefaults(value, depth + 1) : value)
  const copy: Record<string, unknown> = { ...schema }
  for (const key of ['properties', '$defs', 'definitions']) {
    const map = copy[key]
    if (isRecord(map)) copy[key] = Object.fromEntries(Object.entries(map).map(([name, value]) => [name, inner(value)]))
  }
  for (const key of ['items', 'additionalProperties']) copy[key] = inner(copy[key])
  for (const key of COMBINATORS) if (Array.isArray(copy[key])) copy[key] = copy[key].map(inner)
  const { properties, required } = copy
  if (Array.isArray(required) && isRecord(properties))
    copy.required = required.filter((name) => defaultOf(properties[String(name)]) === undefined)
  return Object.fromEntries(Object.entries(copy).filter(([, value]) => value !== undefined))
}

const COMBINATORS = ['oneOf', 'anyOf', 'allOf'] as const
/** Keywords that providers reject at the root; they do not describe properties. */
const ROOT_ONLY_VALIDATED = [...COMBINATORS, 'not', 'if', 'then', 'else', 'enum', 'const', '$ref', 'dependentSchemas']

/** Merges the branches of the root into one object schema. */
function foldRoot(root: JsonSchema): JsonSchema {
  if (!ROOT_ONLY_VALIDATED.some((key) => key in root)) return root
  const branches = (key: string) =>
    Array.isArray(root[key]) ? root[key].map((each) => objectBranch(each, root, key)) : []
  const alternatives = [branches('oneOf'), branches('anyOf')].filter((list) => list.length > 0)
  const all = [root, ...('$ref' in root ? [objectBranch(root, root, '$ref')] : []), ...branches('allOf')]
  const properties = new Map<string, JsonSchema[]>()
  for (const { properties: own } of [...all, ...alternatives.flat()])
    for (const [name, schema] of Object.entries(isRecord(own) ? own : {}))
      properties.set(name, [...(properties.get(name) ?? []), schema as JsonSchema])
  const required = new Set([
    ...all.flatMap(requiredNames),
    ...alternatives.flatMap((list) =>
      requiredNames(list[0]).filter((name) => list.every((each) => requiredNames(each).includes(name))),
    ),
  ])
  const rest = Object.fromEntries(Object.entries(root).filter(([key]) => !ROOT_ONLY_VALIDATED.includes(key)))
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries([...properties].map(([name, list]) => [name, unionOf(list)])),
    ...(required.size > 0 ? { required: [...required] } : undefined),
  }
}

function requiredNames(schema: JsonSchema | undefined): string[] {
  return Array.isArray(schema?.required) ? schema.required.map(String) : []
}

/** One branch of a combinator. Throws for a branch that is not an object schema: no object can be shown for it. */
function objectBranch(branch: unknown, root: JsonSchema, keyword: string): JsonSchema {
  const target = isRecord(branch) && typeof branch.$ref === 'string' ? localDefinition(root, branch.$ref) : branch
  const isObject = isRecord(target) && (target.type ?? 'object') === 'object'
  if (!isObject || (target !== root && COMBINATORS.some((key) => key in target) && !('properties' in target)))
    throw new Error(
      `\`${keyword}\` at the root of \`inputSchema\` cannot be shown as one object, which model providers require`,
    )
  return target
}

function localDefinition(root: JsonSchema, ref: string): unknown {
  const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? []
  const map = root[group]
  return isRecord(map) ? map[name] : undefined
}

/** The schema of a property that several branches describe. */
function unionOf(list: readonly JsonSchema[]): JsonSchema {
  const unique = new Map(list.map((schema) => [JSON.stringify(schema), schema]))
  const [first = {}] = unique.values()
  if (unique.size <= 1) return first
  const constants = [...unique.values()].map((schema) => ('const' in schema ? [schema.const] : schema.enum))
  // A discriminator: `kind: "a"` in one branch and `kind: "b"` in another.
  if (constants.every(Array.isArray)) {
    const { const: _const, enum: _enum, ...rest } = first
    return { ...rest, enum: [...new Set(constants.flat())] }
  }
  return { anyOf: [...unique.values()] }
}

/** The arguments with the defaults of missing properties that the server lists in `required`. */
export function fillDefaults(original: JsonSchema, args: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const filled: Record<string, unknown> = { ...args }
  if (!isRecord(original.properties)) return filled
  for (const [name, property] of Object.entries(original.properties)) {
    const isMissing = !Object.hasOwn(filled, name)
    if (isMissing && !requiredNames(original).includes(name)) continue
    const value = isMissing ? structuredClone(defaultOf(property)) : filled[name]
    if (value === undefined) continue
    filled[name] = isRecord(value) && isRecord(property) ? fillDefaults(property, value) : value
  }
  return filled
}

function defaultOf(schema: unknown): unknown {
  return isRecord(schema) && Object.hasOwn(schema, 'default') ? schema.default : undefined
}
