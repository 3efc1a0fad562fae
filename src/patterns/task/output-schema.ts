import { TroupeError, toTroupeError } from '../../errors.ts'
import { compileSchema } from '../../schema/schema.ts'
import type { JsonSchema, Schema } from '../../schema/standard-schema.ts'
import type * as z from '../../schema/zod.ts'

/*
 * The `output` schema of a task. The journal stores it as JSON Schema and validates with that alone, live and on resume: the
 * process that resumes the run does not have the program's schema object, and must come to the same verdict.
 */

const MAX_SCHEMA_BYTES = 64 * 1024

/** Converts a schema of a program to JSON Schema; for `z.preprocess`. */
export function toOutputSchema(schema: unknown, context: z.core.$RefinementCtx): unknown {
  try {
    return outputJsonSchema(schema as Schema)
  } catch (thrown) {
    const { message, hint } = toTroupeError(thrown)
    context.addIssue({ code: 'custom', message: `${message}; ${hint}`, input: schema })
    return schema
  }
}

function outputJsonSchema(schema: Schema): JsonSchema {
  const json = JSON.stringify(compileSchema(schema, '`output`').jsonSchema)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_SCHEMA_BYTES) {
    throw new TroupeError('too_large', `\`output\` has ${bytes} bytes; the maximum is ${MAX_SCHEMA_BYTES}`, {
      hint: 'use a smaller schema',
    })
  }
  const copy = JSON.parse(json) as JsonSchema
  if (copy.type !== 'object') {
    throw new TroupeError('invalid_input', '`output` does not describe an object (`type: object`)', {
      hint: 'put the value into a field of an object: many models answer with objects only',
    })
  }
  compileSchema(copy, '`output`')
  return copy
}

/** Prevents ReDoS: a regular expression that a model wrote must not be executed in this process. Throws `invalid_tool_input`. */
export function refuseRegularExpressions(schema: JsonSchema): void {
  if (!usesRegularExpression(schema)) return
  throw new TroupeError('invalid_tool_input', '`output` must not use `pattern` or `patternProperties`', {
    hint: 'describe the format in `description` instead',
  })
}

/** Keywords whose value maps names to schemas, so that a property may be called `pattern`. */
const SCHEMA_MAPS = new Set(['properties', '$defs', 'definitions'])
/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples', 'required'])

export function usesRegularExpression(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.some(usesRegularExpression)
  if (typeof schema !== 'object' || schema === null) return false
  return Object.entries(schema).some(([keyword, value]) => {
    if (keyword === 'pattern' || keyword === 'patternProperties') return true
    if (DATA_KEYWORDS.has(keyword)) return false
    const isMap = SCHEMA_MAPS.has(keyword) && typeof value === 'object' && value !== null
    return isMap ? Object.values(value).some(usesRegularExpression) : usesRegularExpression(value)
  })
}
