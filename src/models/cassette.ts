import type { ErrorRecord } from '../errors.ts'
import { TroupeError } from '../errors.ts'
import type { ModelChunk, ModelErrorInfo } from '../kernel/model.ts'
import { parseJson } from '../schema/json-value.ts'
import * as z from '../schema/zod.ts'
import type { RecordedRequest } from './cassette-request.ts'

/*
 * A cassette holds every model request of a run with its response, as JSON Lines: a header, then one line per resolved
 * model name, per request and per retry.
 */

export const CASSETTE_VERSION = 1

/** A resolved model name; `asked` is the name as the run gave it, `null` for the default model. */
export interface ResolvedLine {
  resolved: {
    asked: string | null
    name: string
    limits?: { context?: number; output?: number }
    error?: ErrorRecord
  }
}

/** One request with its response. `n` counts the requests with the same key and hash, from 1. */
export interface CassetteEntry {
  key: string
  hash: string
  n: number
  model: string
  request: RecordedRequest
  /** Ids derived from the run id, in the order in which the request first mentions them. */
  ids: string[]
  chunks: ModelChunk[]
  error?: ModelErrorInfo & { record: ErrorRecord }
  /** Error code with which the run aborted the request; the response is incomplete. */
  aborted?: string
}

/** A retry of a failed request, with the model of the next attempt. */
export interface RetryLine {
  retry: { key: string; hash: string; n: number; model: string }
}

export type CassetteLine = ResolvedLine | CassetteEntry | RetryLine

export interface Cassette {
  /** File name, for error messages. */
  name: string
  resolved: ResolvedLine['resolved'][]
  entries: CassetteEntry[]
  retries: RetryLine['retry'][]
  /** Number of an incomplete last line: the recording process was killed. */
  truncatedLine: number | undefined
}

/** Writes one line of a cassette. */
export type CassetteSink = (line: string) => void

export const CASSETTE_HEADER = JSON.stringify({ troupe_cassette: CASSETTE_VERSION })

const errorRecord = z.looseObject({ code: z.string(), message: z.string() })
const refusedFeature = z.discriminatedUnion('feature', [
  z.object({ feature: z.enum(['output', 'tools', 'temperature', 'top_p', 'seed', 'tool_choice', 'effort', 'system']) }),
  z.object({ feature: z.literal('max_output'), max: z.number() }),
  z.object({ feature: z.literal('window'), tokens: z.number(), input: z.number() }),
])
const errorInfo = {
  status: z.number().optional(),
  retry_after_ms: z.number().optional(),
  mark: z.string().optional(),
  refused: refusedFeature.optional(),
}
const usage = z.object({
  input: z.number(),
  output: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  reasoning: z.number(),
})
const chunk = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string() }),
  z.looseObject({ type: z.literal('tool-call'), id: z.string(), name: z.string() }),
  z.looseObject({ type: z.literal('finish'), stop: z.string(), usage: usage.optional(), mark: z.string().optional() }),
])
const request = z.looseObject({
  model: z.string(),
  system: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.array(z.looseObject({ type: z.string() })) })),
  tools: z.array(z.looseObject({ name: z.string() })),
  settings: z.looseObject({}),
})
const entryLine = z.object({
  key: z.string(),
  hash: z.string(),
  n: z.int().positive(),
  model: z.string(),
  request,
  ids: z.array(z.string()),
  chunks: z.array(chunk),
  error: z.object({ record: errorRecord, ...errorInfo, usage: usage.optional() }).optional(),
  aborted: z.string().optional(),
})
const limits = z.object({ context: z.number().optional(), output: z.number().optional() })
const resolvedLine = z.object({
  resolved: z.object({
    asked: z.string().nullable(),
    name: z.string(),
    limits: limits.optional(),
    error: errorRecord.optional(),
  }),
})
const retryLine = z.object({
  retry: z.object({ key: z.string(), hash: z.string(), n: z.int().positive(), model: z.string() }),
})

/** Parses a cassette. An incomplete last line is skipped and reported in `truncatedLine`. */
export function parseCassette(text: string, name: string): Cassette {
  const lines = text.split('\n')
  const complete = lines.at(-1) === ''
  if (complete) lines.pop()
  const cassette: Cassette = { name, resolved: [], entries: [], retries: [], truncatedLine: undefined }
  checkHeader(lines[0] ?? '', name)
  for (const [index, line] of lines.entries()) {
    if (index === 0) continue
    const isTruncated = !complete && index === lines.length - 1
    const value = parseJson(line)
    if (value !== undefined) addLine(cassette, value, index + 1)
    else if (isTruncated) cassette.truncatedLine = index + 1
    else throw invalidCassetteError(name, index + 1, 'not JSON')
  }
  return cassette
}

function checkHeader(line: string, name: string): void {
  if (line === '') throw invalidCassetteError(name, 1, 'the cassette is empty: the header is missing')
  const { troupe_cassette: version } = Object(parseJson(line)) as { troupe_cassette?: unknown }
  if (typeof version !== 'number') throw invalidCassetteError(name, 1, `not a header such as ${CASSETTE_HEADER}`)
  if (version === CASSETTE_VERSION) return
  const age = version > CASSETTE_VERSION ? 'a newer' : 'an unknown'
  throw new TroupeError(
    'invalid_cassette',
    `${name} has ${age} cassette version (${version}); this version of troupe reads ${CASSETTE_VERSION}`,
    { hint: 'use the version of troupe that recorded the cassette, or record it again with --record' },
  )
}

function addLine(cassette: Cassette, value: unknown, line: number): void {
  const position = { name: cassette.name, line }
  const fields = typeof value === 'object' && value !== null ? value : {}
  if ('resolved' in fields) cassette.resolved.push(validateLine(resolvedLine, fields, position).resolved as never)
  else if ('retry' in fields) cassette.retries.push(validateLine(retryLine, fields, position).retry)
  // The schema leaves open what only replay compares, so that cassettes of other versions can be read.
  else cassette.entries.push(validateLine(entryLine, fields, position) as unknown as CassetteEntry)
}

function validateLine<T>(schema: z.ZodType<T>, value: unknown, { name, line }: { name: string; line: number }): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidCassetteError(name, line, `${issue?.path.map(String).join('.')}: ${issue?.message}`)
}

function invalidCassetteError(name: string, line: number, problem: string): TroupeError {
  return new TroupeError('invalid_cassette', `${name}:${line}: ${problem}`, {
    hint: 'restore the file of the cassette, or record it again with --record',
  })
}
