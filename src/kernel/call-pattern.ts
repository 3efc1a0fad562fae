import { TroupeError } from '../errors.ts'
import { validateValue } from '../schema/schema.ts'
import type { Context } from './context.ts'
import type { Pattern, PatternResult } from './pattern.ts'

/** Executes a pattern. A successful output that does not match its schema becomes a failure that keeps the output. */
export async function callPattern(pattern: Pattern, context: Context, input: unknown): Promise<PatternResult> {
  const result = await pattern.execute(context, input as never)
  if (result?.retry_keys !== undefined) {
    throw new TroupeError(
      'invalid_output',
      `the pattern '${pattern.name}' returned \`retry_keys\`, which was removed`,
      {
        hint: 'return the errors themselves as `incomplete`: `resume` finds out what to retry, and what depends on it',
      },
    )
  }
  // Other results are rejected where they are recorded.
  if (result?.success !== true) return result
  const checked = validateValue(pattern.output, result.output)
  if (checked.ok) return result
  const problem = `the output of the pattern '${pattern.name}' does not match its schema: ${checked.problem}`
  const detail = new TroupeError('invalid_output', problem, {
    hint: "correct `execute` or `output` of the pattern, then resume the run: nothing is repeated, and the output is in the run's record",
  })
  return { ...result, success: false, error: problem, stop_reason: 'failed', detail: detail.toJSON() }
}

/** Validates the data of an event that a pattern emits. Throws `invalid_event`. */
export function parseEventData({ name, events = {} }: Pattern, type: string, data: unknown): object {
  const schema = events[type]
  if (!schema) {
    throw new TroupeError('invalid_event', `the pattern '${name}' declares no event '${type}'`, {
      alternatives: Object.keys(events),
      hint: 'add its schema to `events` of the pattern',
    })
  }
  const parsed = validateValue(schema, data)
  const problem = parsed.ok ? shapeProblem(parsed.value) : parsed.problem
  if (parsed.ok && problem === undefined) return parsed.value as object
  throw new TroupeError('invalid_event', `the event '${type}' does not match its schema: ${problem}`, {
    hint: `correct the data, or \`events\` of the pattern '${name}'`,
  })
}

function shapeProblem(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null) return 'it is not an object'
  // The key of the event would silently replace it.
  return 'key' in data ? 'the field `key` is reserved for the key of the event' : undefined
}
