import type { JsonSchema } from '../schema/standard-schema.ts'

/** Asks for an answer that could not be read once more. It asks for the form only: a repair must not change what was answered. */
export function repairPrompt(problem: string, schema: JsonSchema): string {
  const keys = Object.keys((schema.properties ?? {}) as object)
  const form = keys.length === 0 ? 'as one JSON object' : `as one object with exactly these keys: ${keys.join(', ')}`
  return [
    `I could not read your last message as JSON of the required form: ${problem}.`,
    `Send the same answer again, unchanged in content, ${form}. Reply with the JSON and nothing else.`,
  ].join('\n')
}
