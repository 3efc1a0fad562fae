import type { JsonSchema } from './standard-schema.ts'

/*
 * JSON Schemas for structured output that every provider accepts in strict mode: closed objects whose keys are all required,
 * `null` instead of an optional key, and no bounds, which most servers ignore. What an answer violates nevertheless is read
 * leniently by the code that uses it.
 */

/** A closed object with these keys, all required. */
export function strictObject(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

export function arrayOf(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

export const TEXT: JsonSchema = Object.freeze({ type: 'string' })
export const NUMBER: JsonSchema = Object.freeze({ type: 'number' })
export const INTEGER: JsonSchema = Object.freeze({ type: 'integer' })

/** A value of this type, or `null` where there is none. */
export function nullable(type: 'string' | 'boolean' | 'integer'): JsonSchema {
  return { type: [type, 'null'] }
}

export function oneOf(values: readonly string[]): JsonSchema {
  return { type: 'string', enum: [...values] }
}
