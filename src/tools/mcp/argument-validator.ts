import type { JsonSchema } from '../../kernel/schema.ts'

/*
 * Whether arguments fit the schema that a server advertises. The schema is a stranger's: its regular expressions and
 * formats are left out, for they could stop this process; the server checks them itself.
 */

/** What is wrong with the arguments, if anything. */
export type ArgumentValidator = (args: unknown) => string | undefined

const MAX_SCHEMA_CHARS = 64 * 1024
const MAX_MESSAGE_CHARS = 500

/** Values below these are schemas by name. */
const SCHEMA_MAP_KEYWORDS = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Values of these are data. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired'])
const UNSAFE_KEYWORDS = new Set(['pattern', 'format', 'propertyNames', '$id', 'contentEncoding', 'contentMediaType'])

/** The schema as the model is shown it; throws when it is none. */
export function parseInputSchema(given: unknown): JsonSchema {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('its input schema is missing')
  const size = JSON.stringify(given).length
  if (size > MAX_SCHEMA_CHARS) throw new Error(`its input schema has ${size} characters, more than ${MAX_SCHEMA_CHARS}`)
  const { type = 'object', ...rest } = given as JsonSchema
  if (type !== 'object') throw new Error(`its input schema is not that of an object but of ${JSON.stringify(type)}`)
  return { type, ...rest }
}

/** Throws when the schema is none. */
export async function compileArgumentValidator(schema: JsonSchema): Promise<ArgumentValidator> {
  const { Ajv, AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  const { $schema: _dialect, ...plain } = withoutUnsafeKeywords(schema) as JsonSchema
  // Shown to a provider, a schema that is none would fail every call of the session.
  const form = new Ajv({ strict: false, logger: false })
  if (!form.validateSchema(plain)) throw new Error(form.errorsText(form.errors, { dataVar: 'schema' }))
  const check = new AjvJsonSchemaValidator().getValidator(plain)
  return (args) => {
    const { valid, errorMessage } = check(args)
    return valid
      ? undefined
      : (errorMessage ?? 'they do not fit').replaceAll(/\bdata\/?/g, '').slice(0, MAX_MESSAGE_CHARS)
  }
}

function withoutUnsafeKeywords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutUnsafeKeywords)
  if (typeof schema !== 'object' || schema === null) return schema
  const open = 'patternProperties' in schema
  const kept = Object.entries(schema).filter(
    ([key]) =>
      !UNSAFE_KEYWORDS.has(key) && !(open && /^(patternProperties|(additional|unevaluated)Properties)$/.test(key)),
  )
  return Object.fromEntries(
    kept.map(([key, value]) => {
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
