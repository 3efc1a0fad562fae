import type { JsonSchema } from '../kernel/schema.ts'

/**
 * Whether OpenAI's strict mode takes a schema: each object closed, each property required. Asking for strictness with
 * any other schema is refused; asking without it costs at most a repair turn.
 */
export function isStrict(schema: JsonSchema): boolean {
  return fits(schema)
}

function fits(node: unknown): boolean {
  if (Array.isArray(node)) return node.every(fits)
  if (typeof node !== 'object' || node === null) return true
  const { properties, required, additionalProperties, ...rest } = node as JsonSchema
  if ('propertyNames' in rest || 'patternProperties' in rest || 'allOf' in rest || 'oneOf' in rest) return false
  if (rest.type === 'object' || properties !== undefined) {
    if (additionalProperties !== false) return false
    const names = Object.keys((properties ?? {}) as object)
    const needed = new Set((required ?? []) as string[])
    if (names.length === 0 || !names.every((name) => needed.has(name))) return false
  }
  const { default: hasDefault, const: _const, enum: _enum, examples: _examples, ...deeper } = rest
  if (hasDefault !== undefined) return false
  return Object.values((properties ?? {}) as object).every(fits) && Object.values(deeper).every(fits)
}
