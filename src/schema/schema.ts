import { TroupeError, toTroupeError } from '../errors.ts'
import { removedNameHint } from './removed-names.ts'
import type { JsonSchema, Schema, StandardIssue, StandardSchema } from './standard-schema.ts'
import { schemaKind, unsupportedSchemaError } from './standard-schema.ts'
import * as z from './zod.ts'

/*
 * Schemas of users. zod, every library with Standard Schema and Standard JSON Schema, and plain JSON Schema are compiled to the
 * same two things: a JSON Schema for models and journals, and a synchronous validator. Validation must be synchronous: a
 * resumed run validates recorded values again, in the order of its steps.
 */

export type Validation = { ok: true; value: unknown } | { ok: false; problem: string }

export interface CompiledSchema {
  /** Describes the values that `validate` accepts. */
  readonly jsonSchema: JsonSchema
  validate(value: unknown): Validation
}

const compiledSchemas = new WeakMap<object, CompiledSchema>()

/** Compiles a schema, once. Throws `invalid_input` that names `option` if the schema cannot be used. */
export function compileSchema(schema: Schema, option = '`schema`'): CompiledSchema {
  let compiled = compiledSchemas.get(schema)
  if (!compiled) {
    compiled = newCompiledSchema(schema, option)
    compiledSchemas.set(schema, compiled)
  }
  return compiled
}

export function toJsonSchema(schema: Schema): JsonSchema {
  return compileSchema(schema).jsonSchema
}

export function validateValue(schema: Schema, value: unknown): Validation {
  return compileSchema(schema).validate(value)
}

/** The validated value. Throws `invalid_input`. */
export function parseValue(schema: Schema, value: unknown): unknown {
  const parsed = validateValue(schema, value)
  if (parsed.ok) return parsed.value
  throw new TroupeError('invalid_input', `the value does not match its schema: ${parsed.problem}`, {
    hint: 'change the value, or the `input` or `output` schema',
  })
}

/** Overrides the JSON Schema of a schema, e.g. with the one that an MCP server declares. */
export function withJsonSchema<S extends Schema>(schema: S, jsonSchema: JsonSchema): S {
  const { validate } = compileSchema(schema)
  compiledSchemas.set(schema, { jsonSchema, validate })
  return schema
}

function newCompiledSchema(schema: Schema, option: string): CompiledSchema {
  const kind = schemaKind(schema, option)
  if (kind === 'zod') return zodSchema(schema as z.ZodType, option)
  return kind === 'standard'
    ? standardSchema(schema as StandardSchema, option)
    : jsonSchema(schema as JsonSchema, option)
}

function zodSchema(schema: z.ZodType, option: string): CompiledSchema {
  let json: JsonSchema | undefined
  return {
    // Generated when first read: most schemas of a program are never sent to a model.
    get jsonSchema() {
      json ??= orUnsupported(
        option,
        () => z.toJSONSchema(schema, { io: 'input', override: dropIntegerBounds }) as JsonSchema,
      )
      return json
    },
    validate(value) {
      const parsed = parseZod(schema, value, option)
      return parsed.success ? { ok: true, value: parsed.data } : { ok: false, problem: formatIssues(parsed.error) }
    },
  }
}

/** The bounds of every integer are those of safe integers: they tell a model nothing, and some servers reject them. */
function dropIntegerBounds({ jsonSchema }: { jsonSchema: { minimum?: unknown; maximum?: unknown } }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

function parseZod(schema: z.ZodType, value: unknown, option: string) {
  try {
    return z.safeParse(schema, value)
  } catch (thrown) {
    if (thrown instanceof z.$ZodAsyncError) throw unsupportedSchemaError(option, 'validates asynchronously')
    throw thrown
  }
}

function standardSchema(schema: StandardSchema, option: string): CompiledSchema {
  const converter = schema['~standard'].jsonSchema
  return {
    jsonSchema: orUnsupported(option, () => converter?.input({ target: 'draft-2020-12' }) ?? {}),
    validate(value) {
      const result = schema['~standard'].validate(value)
      if (result instanceof Promise) {
        result.catch(() => {})
        throw unsupportedSchemaError(option, 'validates asynchronously')
      }
      return result.issues
        ? { ok: false, problem: formatStandardIssues(result.issues) }
        : { ok: true, value: result.value }
    },
  }
}

function jsonSchema(schema: JsonSchema, option: string): CompiledSchema {
  // Its own registry: the global one would keep schemas with an `$id` for ever.
  const parse = () => z.fromJSONSchema(structuredClone(schema) as never, { registry: z.registry() })
  const { validate } = zodSchema(orUnsupported(option, parse), option)
  return { jsonSchema: schema, validate }
}

function orUnsupported<T>(option: string, convert: () => T): T {
  try {
    return convert()
  } catch (thrown) {
    throw unsupportedSchemaError(option, `cannot be used: ${toTroupeError(thrown).message}`)
  }
}

const MAX_ISSUES = 5

/** Formats validation issues as one line of `path: problem`. A removed name is looked up below `option`. */
export function formatIssues(error: z.core.$ZodError, option?: string): string {
  return error.issues
    .flatMap((issue) => innermostIssues(issue, []))
    .slice(0, MAX_ISSUES)
    .map((issue) => formatIssue({ ...issue, message: issue.message + removedKeyHints(issue, option) }))
    .join('; ')
}

function removedKeyHints({ path, keys = [] }: IssueLocation, option: string | undefined): string {
  const prefix = option === undefined ? path : [option, ...path]
  const hints = keys.flatMap((key) => removedNameHint([...prefix, key].map(String).join('.')) ?? [])
  return hints.length === 0 ? '' : ` (${hints.join('; ')})`
}

function formatStandardIssues(issues: readonly StandardIssue[]): string {
  return issues
    .slice(0, MAX_ISSUES)
    .map(({ path = [], message }) =>
      formatIssue({ message, path: path.map((part) => (typeof part === 'object' ? part.key : part)) }),
    )
    .join('; ')
}

type IssueLocation = Pick<z.core.$ZodIssue, 'path' | 'message'> & { keys?: readonly string[] | undefined }

/** Issues of a union: those of the branch that matches in part, or else only that no branch matches. */
function innermostIssues(issue: z.core.$ZodIssue, outer: readonly PropertyKey[]): IssueLocation[] {
  const path = [...outer, ...issue.path]
  const nearest =
    issue.code === 'invalid_union'
      ? issue.errors.find((inner) =>
          inner.every(({ path: innerPath, code }) => innerPath.length > 0 || code === 'unrecognized_keys'),
        )
      : undefined
  if (nearest) return nearest.flatMap((inner) => innermostIssues(inner, path))
  return [{ path, message: issue.message, keys: issue.code === 'unrecognized_keys' ? issue.keys : undefined }]
}

function formatIssue({ path, message }: IssueLocation): string {
  const field = path.map(String).join('.')
  if (field !== '' && message.endsWith('received undefined')) return `${field} is missing`
  return field === '' ? message : `${field}: ${message}`
}
