import { TroupeError } from '../errors.ts'

/*
 * The kinds of schemas that users may give. Loads no library: defining a tool must not load zod, which takes most of the
 * start-up time of a program.
 */

export type JsonSchema = { readonly [key: string]: unknown }

/** A schema of zod or another Standard Schema library, or a JSON Schema. */
export type Schema<Output = unknown> = StandardSchema<unknown, Output> | JsonSchema

/** The values that a schema accepts, before its defaults and transforms; `unknown` for a JSON Schema. */
export type SchemaInput<S> = S extends StandardSchema<infer Input, unknown> ? Input : unknown
/** The values that a schema returns; `unknown` for a JSON Schema. */
export type SchemaOutput<S> = S extends StandardSchema<unknown, infer Output> ? Output : unknown

/** The interface that schema libraries share (https://standardschema.dev): zod, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult | Promise<StandardResult>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Standard JSON Schema; not every library has it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
  }
}

export type StandardResult =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Throws `invalid_input`, which names `option`, for a schema of an unsupported library or type. */
export function schemaKind(schema: unknown, option: string): 'zod' | 'standard' | 'json' {
  if (isObject(schema) && '_zod' in schema) return 'zod'
  if (isStandardSchema(schema)) {
    const { vendor, jsonSchema } = schema['~standard']
    if (jsonSchema) return 'standard'
    throw unsupportedSchemaError(option, `is a schema of ${vendor}, which gives no JSON Schema`, vendor)
  }
  if (isPlainObject(schema)) return 'json'
  throw unsupportedSchemaError(option, 'is a value of an unsupported library or type')
}

export function unsupportedSchemaError(option: string, problem: string, vendor = ''): TroupeError {
  const hint =
    vendor === 'valibot'
      ? 'wrap it with `toStandardJsonSchema` of @valibot/to-json-schema'
      : 'use zod 4, a library with Standard JSON Schema (`~standard.jsonSchema`), or a JSON Schema object'
  return new TroupeError('invalid_input', `${option} ${problem}`, {
    alternatives: ['zod 4', 'a library with Standard JSON Schema, such as arktype', 'a JSON Schema object'],
    hint,
  })
}

/** arktype's schemas are functions. */
function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function isStandardSchema(schema: unknown): schema is StandardSchema {
  return isObject(schema) && '~standard' in schema && isObject(schema['~standard'])
}

function isPlainObject(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const prototype: unknown = Object.getPrototypeOf(schema)
  return prototype === Object.prototype || prototype === null
}
