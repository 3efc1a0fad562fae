import type { Pattern } from '../../../entries/patterns.ts'
import { toTroupeError } from '../../../errors.ts'
import type { JsonSchema, RunHandle, Schema, Troupe } from '../../../index.ts'
import { definedFields } from '../../../schema/json-value.ts'
import { compileSchema, validateValue } from '../../../schema/schema.ts'
import { refuse } from '../checks/refusal.ts'
import type { HttpParts } from '../http-parts.ts'

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

export interface PatternRequest {
  pattern: string
  input: unknown
  tags?: readonly string[] | undefined
}

/** Starts a run of a pattern with the input that a request may give. */
export async function startPattern(parts: HttpParts, request: PatternRequest): Promise<RunHandle> {
  const { input } = await findStartable(parts, request.pattern)
  const parsed = validateValue(input, request.input)
  if (!parsed.ok) throw refuse(400, { code: 'invalid_input', message: `input: ${parsed.problem}` })
  const options = definedFields({ limits: parts.runLimits, tags: request.tags })
  return parts.troupe.stream(request.pattern, parsed.value as never, options)
}

/** The run goes on when the response has ended; its journal has its errors. */
export function leaveRunning(parts: HttpParts, { result }: RunHandle): void {
  const ended = result.catch(() => {})
  // The run has started: a platform that cannot wait for it is no reason to refuse the request.
  const wait = async () => parts.waitUntil?.(ended)
  wait().catch((thrown: unknown) => parts.onError(toTroupeError(thrown)))
}

/** 404 for a pattern that cannot be started here; 409 if nothing can. */
export async function findStartable(parts: HttpParts, name: string): Promise<StartablePattern> {
  requireExecution(parts)
  const startable = await startablePatterns(parts.troupe)
  const found = startable.find(({ pattern }) => pattern.name === name)
  if (found) return found
  const known = startable.map(({ pattern }) => pattern.name).join(', ')
  throw refuse(404, { code: 'not_found', message: 'no such pattern can be started here', hint: `known: ${known}` })
}

export function requireExecution({ executes }: HttpParts): void {
  if (executes) return
  throw refuse(409, {
    code: 'not_executing',
    message: 'this server only shows runs',
    hint: 'start it without --no-execute, or use the command line',
  })
}
