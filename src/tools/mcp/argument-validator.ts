import type { JsonSchema } from '../../schema/standard-schema.ts'

/*
 * Validates arguments against the input schema of an MCP server. The schema is untrusted: `pattern` and `format` are removed,
 * because a hostile regular expression could block this process (ReDoS); the server validates them itself.
 */

/** Returns an error message for invalid arguments. */
export type ArgumentValidator = (args: unknown) => string | undefined

const MAX_MESSAGE_CHARS = 500

/** Keywords whose value maps names to schemas. */
const SCHEMA_MAP_KEYWORDS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Keywords whose value is data, not a schema. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired'])
const UNSAFE_KEYWORDS = new Set(['pattern', 'format', 'propertyNames', '$id', 'contentEncoding', 'contentMediaType'])

/** Throws on an invalid JSON Schema. */
export async function compileArgumentValidator(schema: JsonSchema): Promise<ArgumentValidator> {
  const { Ajv, AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  const { $schema: _dialect, ...plain } = withoutUnsafeKeywords(schema) as JsonSchema
  // A model provider would reject an invalid schema, and with it every request of the session.
  const ajv = new Ajv({ strict: false, logger: false })
  if (!ajv.validateSchema(plain)) throw new Error(ajv.errorsText(ajv.errors, { dataVar: 'schema' }))
  const validate = new AjvJsonSchemaValidator().getValidator(plain)
  return (args) => {
    const { valid, errorMessage } = validate(args)
    return valid
      ? undefined
      : (errorMessage ?? 'invalid arguments').replaceAll(/\bdata\/?/g, '').slice(0, MAX_MESSAGE_CHARS)
  }
}

function withoutUnsafeKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUnsafeKeywords)
  if (typeof schema !== 'object' || schema === null) return schema
  const hasPatternProperties = 'patternProperties' in schema
  const safeEntries = Object.entries(schema).filter(
    ([key]) =>
      !UNSAFE_KEYWORDS.has(key) &&
      !(hasPatternProperties && /^(patternProperties|(additional|unevaluated)Properties)$/.test(key)),
  )
  return Object.fromEntries(
    safeEntries.map(([key, value]) => {
      if (DATA_KEYWORDS.has(key)) return [key, value]
      if (SCHEMA_MAP_KEYWORDS.has(key) && typeof value === 'object' && value !== null && !Array.isArray(value)) {
        return [
          key,
          Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutUnsafeKeywords(inner)])),
        ]
      }
      return [key, withoutUnsafeKeywords(value)]
    }),
  )
}
