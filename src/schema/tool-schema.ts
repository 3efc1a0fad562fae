import type { JsonSchema } from './standard-schema.ts'

/*
 * The schema of a tool as a model sees it. Every request repeats it, and calls are validated against the whole schema anyway: what
 * tells the model nothing is left out.
 */

const compactSchemas = new WeakMap<JsonSchema, JsonSchema>()

/** Memoised: the same object for the same schema. */
export function toCompactSchema(schema: JsonSchema): JsonSchema {
  let compact = compactSchemas.get(schema)
  if (!compact) {
    compact = compactNode(schema) as JsonSchema
    compactSchemas.set(schema, compact)
  }
  return compact
}

function compactNode(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(compactNode)
  if (typeof node !== 'object' || node === null) return node
  const kept = Object.entries(node).filter(([key, value]) => !isNoise(node as JsonSchema, key, value))
  return Object.fromEntries(kept.map(([key, value]) => [key, compactValue(key, value)]))
}

/** Properties and values are named by the author of the tool: a property may be called `maxLength`. */
function compactValue(key: string, value: unknown): unknown {
  if (key === 'default' || key === 'const' || key === 'enum' || key === 'examples') return value
  if (key !== 'properties' || typeof value !== 'object' || value === null) return compactNode(value)
  return Object.fromEntries(Object.entries(value).map(([name, property]) => [name, compactNode(property)]))
}

function isNoise(node: JsonSchema, key: string, value: unknown): boolean {
  switch (key) {
    case '$schema':
      return true
    case 'minimum':
      return (
        isUnbounded(value) || (isUnbounded(node.maximum) && node.type === 'integer' && (value === 0 || value === 1))
      )
    case 'maximum':
      return isUnbounded(value)
    case 'minLength':
      return value === 1
    case 'maxLength':
    case 'maxItems':
      return typeof value === 'number'
    case 'propertyNames':
      return JSON.stringify(value) === '{"type":"string"}'
    case 'additionalProperties':
      return value === false || JSON.stringify(value) === '{}'
    default:
      return false
  }
}

/** No bound, or the one that every safe integer has. A count or a position from 0 or 1 on is no scale: its minimum goes without saying. */
function isUnbounded(bound: unknown): boolean {
  return bound === undefined || Math.abs(Number(bound)) === Number.MAX_SAFE_INTEGER
}
