import type { JsonSchema, Pattern, Schema, Troupe } from '../../../index.ts'
import { compileSchema } from '../../../schema/schema.ts'

/** A pattern that a request can start, with the input that a request may give. */
export interface StartablePattern {
  pattern: Pattern
  input: Schema
  inputSchema: JsonSchema
}

export async function startablePatterns(troupe: Troupe): Promise<StartablePattern[]> {
  const patterns = (await troupe.patterns()).filter(
    ({ only, requestInput }) => only !== 'tool' && requestInput !== null,
  )
  return patterns.map((pattern) => {
    const input = pattern.requestInput ?? pattern.input
    const { $schema: _schema, ...inputSchema } = compileSchema(input).jsonSchema
    return { pattern, input, inputSchema }
  })
}
