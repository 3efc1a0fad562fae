import type { JsonSchema } from '../../kernel/schema.ts'

/*
 * Whether arguments fit the schema that a server advertises. The schema is a stranger's: its regular expressions and
 * formats are left out, for they could stop this process; the server checks them itself.
 */

/** What is wrong with the arguments, if anything. */
export type ArgumentCheck = (args: unknown) => string | undefined

const LARGEST = 64 * 1024
const MOST_WORDS = 500

/** Values below these are schemas by name. */
const BY_NAME = new Set(['properties', '$defs', 'definitions', 'dependentSchemas'])
/** Values of these are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'required', 'dependentRequired'])
const LEFT_OUT = new Set(['pattern', 'format', 'propertyNames', '$id', 'contentEncoding', 'contentMediaType'])

/** The schema as the model is shown it; throws when it is none. */
export function readSchema(given: unknown): JsonSchema {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new Error('its input schema is missing')
  const size = JSON.stringify(given).length
  if (size > LARGEST) throw new Error(`its input schema has ${size} characters, more than ${LARGEST}`)
  const { type = 'object', ...rest } = given as JsonSchema
  if (type !== 'object') throw new Error(`its input schema is not that of an object but of ${JSON.stringify(type)}`)
  return { type, ...rest }
}

/** Throws when the schema is none. */
export async function argumentCheck(schema: JsonSchema): Promise<ArgumentCheck> {
  const { Ajv, AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv')
  const { $schema: _dialect, ...plain } = lenient(schema) as JsonSchema
  // Shown to a provider, a schema that is none would fail every call of the session.
  const form = new Ajv({ strict: false, logger: false })
  if (!form.validateSchema(plain)) throw new Error(form.errorsText(form.errors, { dataVar: 'schema' }))
  const check = new AjvJsonSchemaValidator().getValidator(plain)
  return (args) => {
    const { valid, errorMessage } = check(args)
    return valid ? undefined : (errorMessage ?? 'they do not fit').replaceAll(/\bdata\/?/g, '').slice(0, MOST_WORDS)
  }
}

function lenient(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lenient)
  if (typeof schema !== 'object' || schema === null) return schema
  const open = 'patternProperties' in schema
  const kept = Object.entries(schema).filter(
    ([key]) => !LEFT_OUT.has(key) && !(open && /^(patternProperties|(additional|unevaluated)Properties)$/.test(key)),
  )
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (DATA.has(key)) return [key, value]
      if (BY_NAME.has(key) && typeof value === 'object' && value !== null && !Array.isArray(value)) {
        return [key, Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, lenient(inner)]))]
      }
      return [key, lenient(value)]
    }),
  )
}
